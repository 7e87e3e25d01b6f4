#!/usr/bin/env bash
# Print the home of a Java that Spark runs on (17 or newer); install one where root may.
set -euo pipefail

oldest=17

# Print "version home" of the given java command, or nothing.
describe() {
    "$1" -XshowSettings:properties -version 2>&1 | awk -F' = ' '
        $1 ~ /java\.home$/ { home = $2 }
        $1 ~ /java\.specification\.version$/ { sub(/^1\./, "", $2); version = int($2) }
        END { if (version && home) print version, home }' || true
}

# Print the home of the first java that will do: the user's choice, then that of the machine.
find_java() {
    local command version home
    for command in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)"; do
        [[ -x "$command" ]] || continue
        read -r version home <<<"$(describe "$command")"
        if ((${version:-0} >= oldest)); then
            echo "$home"
            return
        fi
    done
    # None was chosen: the oldest that will do is the one that Spark has been tested on longest.
    for command in /usr/lib/jvm/*/bin/java; do
        if [[ -x "$command" ]]; then describe "$command"; fi
    done | sort -n | awk -v oldest="$oldest" '$1 >= oldest && !n++ { sub(/^[0-9]+ /, ""); print }'
}

# Install the first of the packages that this Debian has.
install_java() {
    local version
    for version in 17 21 25; do
        "$(dirname "${BASH_SOURCE[0]}")/install.sh" "openjdk-$version-jre-headless" && return
    done
}

home=$(find_java)
if [[ -z "$home" && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    echo "java: none of version $oldest or newer, installing one with apt-get" >&2
    install_java || true
    home=$(find_java)
fi
if [[ -z "$home" ]]; then
    echo "Spark needs Java $oldest or newer: install it (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME" >&2
    exit 1
fi
echo "$home"
