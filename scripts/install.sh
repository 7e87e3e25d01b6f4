#!/usr/bin/env bash
# Install packages of Debian where root may: scripts/install.sh PACKAGE... Says nothing; fails where it cannot.
set -euo pipefail

[[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || exit 1
if command -v flock >/dev/null; then # of two at once apt-get lets only one do its work
    exec 9<"${BASH_SOURCE[0]}"
    flock 9
fi
{
    apt-get update -qq || true # where one source of several does not answer, the others may do
    # Only programs are wanted: no service is started.
    DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$@"
} </dev/null >/dev/null 2>&1 9<&-
