#!/usr/bin/env bash
# Print the path of a Python that is new enough. $PYTHON, where set, is the only one tried.
set -euo pipefail

new_enough='import sys; sys.exit(sys.version_info < (3, 11))'
for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14}; do
    if "$name" -c "$new_enough" >/dev/null 2>&1; then
        # A shim (pyenv, asdf) may answer otherwise elsewhere: name the interpreter behind it.
        "$name" -c 'import sys; print(sys.executable)'
        exit 0
    fi
done

found=$("${PYTHON:-python3}" --version 2>/dev/null || echo none)
echo "penstock needs Python 3.11 or newer (found: $found): install one (Debian: apt-get install python3 python3-venv) or name it: make PYTHON=/path/to/python3" >&2
exit 1
