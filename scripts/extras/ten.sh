#!/bin/sh
# TEN VAD's library for Linux needs libc++: ten.sh PYTHON
set -eu

python=$1
here=$(cd "$(dirname "$0")/.." && pwd)

found() {
    "$python" -c 'import ctypes.util, sys; sys.exit(not ctypes.util.find_library("c++"))'
}

[ "$(uname)" = Linux ] || exit 0
found && exit 0
"$here/apt_install.sh" libc++1 && found && exit 0

echo "setup: libc++ is missing, TEN VAD cannot run. Debian/Ubuntu: sudo apt-get install libc++1;" \
    "Fedora: sudo dnf install libcxx. Then run this again." >&2
exit 1
