#!/bin/sh
# Install the balancer that the tests of a cluster run: ensure_haproxy.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)

found() {
    PATH=$PATH:/usr/sbin command -v haproxy >/dev/null
}

found && exit 0

# Debian's package starts a service, unless it is installed in runlevel 1. The tests start their own.
RUNLEVEL=1 "$here/apt_install.sh" haproxy && found && exit 0

echo "setup: missing for this test: haproxy" \
    "(Debian/Ubuntu: sudo apt-get install haproxy). Then run this again." >&2
exit 1
