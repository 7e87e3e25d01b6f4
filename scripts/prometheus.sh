#!/usr/bin/env bash
# Print the paths of Prometheus and promtool; install them where root may. The tests do without them.
set -euo pipefail

if ! command -v promtool >/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    echo "prometheus: not found, installing it with apt-get" >&2
    {
        # Only the programs are wanted: no service is started.
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
            apt-get install -y -qq --no-install-recommends prometheus
    } </dev/null >/dev/null 2>&1 || true
fi
if ! command -v prometheus promtool; then
    echo "prometheus: not found, so its tests are skipped (Debian: apt-get install prometheus)" >&2
fi
