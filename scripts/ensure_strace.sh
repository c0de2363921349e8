#!/bin/sh
# Install strace, with which tests see what programs ask the network for: ensure_strace.sh
# Only Linux has it; elsewhere, and where tracing is forbidden, these tests are skipped.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

[ "$(uname)" = Linux ] || exit 0
command -v strace >/dev/null && exit 0
"$here/apt_install.sh" strace && command -v strace >/dev/null && exit 0

echo "setup: missing for some tests, which are skipped: strace" \
    "(Debian/Ubuntu: sudo apt-get install strace)" >&2
exit 1
