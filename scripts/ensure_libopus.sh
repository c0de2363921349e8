#!/bin/sh
# See to it that Python finds libopus: ensure_libopus.sh PYTHON
set -eu

python=$1
here=$(cd "$(dirname "$0")" && pwd)

# The same look-up as opuslib's own, so what passes here works there.
found() {
    "$python" -c 'import ctypes.util, sys; sys.exit(not ctypes.util.find_library("opus"))'
}

found && exit 0
"$here/apt_install.sh" libopus0 && found && exit 0

echo "setup: libopus is missing. Debian/Ubuntu: sudo apt-get install libopus0;" \
    "Fedora: sudo dnf install opus; macOS: brew install opus. Then run this again." >&2
exit 1
