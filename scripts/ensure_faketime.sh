#!/bin/sh
# Install the library by which the tests of a cluster give processes other wall clocks:
# ensure_faketime.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)

found() {
    ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1
}

found && exit 0

"$here/apt_install.sh" faketime && found && exit 0

echo "setup: missing for this test: faketime" \
    "(Debian/Ubuntu: sudo apt-get install faketime). Then run this again." >&2
exit 1
