#!/bin/sh
# Install the browser that the tests of the console run, and a font with Chinese: ensure_chromium.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)

found() {
    command -v chromium >/dev/null && command -v fc-list >/dev/null && [ -n "$(fc-list :lang=zh)" ]
}

found && exit 0

"$here/apt_install.sh" chromium fontconfig fonts-dejavu-core fonts-wqy-microhei && found && exit 0

echo "setup: missing for this test: chromium and a font with Chinese" \
    "(Debian/Ubuntu: sudo apt-get install chromium fontconfig fonts-wqy-microhei). Then run this again." >&2
exit 1
