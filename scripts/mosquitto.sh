#!/usr/bin/env bash
# Print the path of Mosquitto, an MQTT broker; install it where root may. The tests do without it.
set -euo pipefail

PATH="$PATH:/usr/sbin:/usr/local/sbin"
if ! command -v mosquitto >/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    echo "mosquitto: not found, installing it with apt-get" >&2
    {
        # Only the program is wanted: no service is started.
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
            apt-get install -y -qq --no-install-recommends mosquitto
    } </dev/null >/dev/null 2>&1 || true
fi
if ! command -v mosquitto; then
    echo "mosquitto: not found, so its tests are skipped (Debian: apt-get install mosquitto)" >&2
fi
