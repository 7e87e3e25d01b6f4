#!/usr/bin/env bash
# Build .venv from requirements.lock, with penstock installed from src. Does nothing when up to date.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stamp=.venv/.penstock-stamp
# The folder is part of the key: a virtual environment does not survive a move.
key=$({ pwd; cat requirements.lock pyproject.toml scripts/setup.sh; } | cksum)
up_to_date() { [[ -x .venv/bin/penstock && "$(cat "$stamp" 2>/dev/null)" == "$key" ]]; }

up_to_date && exit 0
if command -v flock >/dev/null; then # two makes at once: the second waits, and finds it done
    exec 9<scripts/setup.sh
    flock 9
    up_to_date && exit 0
fi

# Run a command silently; where it fails, show the end of what it said.
quietly() {
    local said
    said=$("$@" </dev/null 2>&1 9<&-) && return
    tail -n 25 <<<"$said" >&2
    echo "setup: failed: $*" >&2
    exit 1
}

rm -f "$stamp"
built_here=$(cat .venv/.penstock-home 2>/dev/null || true)
if [[ "$built_here" != "$PWD" ]] || ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    python=$(scripts/python.sh)
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if ! "$python" -c 'import venv; from ensurepip import bootstrap' 2>/dev/null; then
        if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
            echo "setup: installing python$version-venv with apt-get"
            scripts/install.sh "python$version-venv" 9<&- || true
        fi
        if ! "$python" -c 'import venv; from ensurepip import bootstrap' 2>/dev/null; then
            echo "setup: $python cannot make virtual environments: apt-get install python$version-venv" >&2
            exit 1
        fi
    fi
    echo "setup: creating .venv with Python $version"
    rm -rf .venv
    quietly "$python" -m venv .venv
    echo "$PWD" >.venv/.penstock-home
fi

export PIP_DISABLE_PIP_VERSION_CHECK=1
# Nothing is compiled to bytecode beforehand: most modules are never imported.
pip=(.venv/bin/python -m pip install --quiet --no-build-isolation --no-deps --no-compile)
lock=$(cat requirements.lock)
if .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 14))'; then
    lock=$(grep -v '^libcachesim==' <<<"$lock") # no wheel for 3.14; pyproject.toml says so too
fi
tools='^(packaging|setuptools|wheel)=='
spark='^pyspark=='
echo "setup: installing $(grep -c == <<<"$lock") packages from requirements.lock (a minute or two; 1.6 GB)"
# The build tools come first: some packages come as source only, and nothing unlocked builds them.
quietly "${pip[@]}" $(grep -E "$tools" <<<"$lock")
# Spark is one of them, and by far the largest: it has a pip of its own.
quietly "${pip[@]}" $(grep -E "$spark" <<<"$lock") &
quietly "${pip[@]}" -r <(grep -vE "$tools|$spark" <<<"$lock") &
failed=0
for job in $(jobs -p); do wait "$job" || failed=1; done
((!failed)) || exit 1
echo "setup: installing penstock from src"
quietly "${pip[@]}" --editable .
quietly .venv/bin/python -m pip check
echo "$key" >"$stamp"
