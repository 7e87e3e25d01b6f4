#!/usr/bin/env bash
# Find the programs that tests talk to, and install what is missing where root may. The tests do without them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH="$PATH:/usr/sbin:/usr/local/sbin"

# Each: its packages, and the commands that it is made of; a|b: either.
programs=(
    "mosquitto: mosquitto"
    "prometheus: prometheus promtool"
    "chromium chromium-driver: chromium|chromium-browser|google-chrome chromedriver"
)

# Succeed if all commands of a program are there.
found() {
    local name
    for name in $1; do
        # shellcheck disable=SC2086 # a|b are words
        [[ -n "$(command -v ${name//|/ } | head -n 1)" ]] || return 1
    done
}

# Print the packages of the programs that are missing, one program to a line.
missing() {
    local program
    for program in "${programs[@]}"; do
        found "${program#*: }" || echo "${program%%: *}"
    done
}

wanted=$(missing)
[[ -n "$wanted" ]] || exit 0
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    echo "programs: installing with apt-get:" $wanted >&2
    # All at once; where one cannot be had, the others one by one.
    scripts/install.sh $wanted || missing | while read -r packages; do
        scripts/install.sh $packages </dev/null || true
    done
fi
missing | while read -r packages; do
    echo "programs: ${packages%% *} not found, so its tests are skipped (Debian: apt-get install $packages)" >&2
done
