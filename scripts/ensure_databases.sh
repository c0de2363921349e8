#!/bin/sh
# Install the database server that the tests of registry and memory run: ensure_databases.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)
postgres=${POSTGRES_DIR:-/usr/lib/postgresql}

missing() {
    ls "$postgres"/*/bin/initdb >/dev/null 2>&1 || echo postgresql
}

packages=$(missing)
[ -z "$packages" ] && exit 0

# Debian's package starts a service, unless it is installed in runlevel 1. The tests start servers
# of their own.
# shellcheck disable=SC2086 # one word a package
RUNLEVEL=1 "$here/apt_install.sh" $packages && [ -z "$(missing)" ] && exit 0

echo "setup: missing for this test:" $packages \
    "(Debian/Ubuntu: sudo apt-get install $(echo $packages)). Then run this again." >&2
exit 1
