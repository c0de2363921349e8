#!/bin/sh
# Install the browser of the console's tests, and fonts with Chinese and faces: ensure_chromium.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)

found() {
    command -v chromium >/dev/null && command -v fc-list >/dev/null && [ -n "$(fc-list :lang=zh)" ] &&
        [ -n "$(fc-list :lang=und-zsye)" ] # emoji, for faces
}

found && exit 0

"$here/apt_install.sh" chromium fontconfig fonts-dejavu-core fonts-wqy-microhei \
    fonts-noto-color-emoji && found && exit 0

echo "setup: missing for this test: chromium, fonts with Chinese and emoji (Debian/Ubuntu:" \
    "sudo apt-get install chromium fontconfig fonts-wqy-microhei fonts-noto-color-emoji)." \
    "Then run this again." >&2
exit 1
