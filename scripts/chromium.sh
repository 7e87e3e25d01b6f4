#!/usr/bin/env bash
# Print the paths of Chromium and of its driver, for the tests of pages; install them where root may.
set -euo pipefail

# Print both paths, or nothing.
find_chromium() {
    local browser driver
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
    driver=$(command -v chromedriver || true)
    if [[ -n "$browser" && -n "$driver" ]]; then echo "$browser $driver"; fi
}

install_chromium() {
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        chromium chromium-driver
}

found=$(find_chromium)
if [[ -z "$found" && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    echo "chromium: none with a driver, installing it with apt-get" >&2
    install_chromium </dev/null >/dev/null 2>&1 || true
    found=$(find_chromium)
fi
if [[ -z "$found" ]]; then
    echo "chromium: not to be had, so the tests of pages in a browser are skipped" \
        "(Debian: apt-get install chromium chromium-driver)" >&2
    exit 1
fi
echo "$found"
