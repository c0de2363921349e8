#!/bin/sh
# Install the message broker that the tests of the bus run and that no Python package has:
# ensure_brokers.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# That in /usr/sbin insists on a user of its own.
server=${RABBITMQ_SERVER:-/usr/lib/rabbitmq/bin/rabbitmq-server}

[ -x "$server" ] && exit 0

# Debian's package starts a service, unless it is installed in runlevel 1. The tests start servers
# of their own.
RUNLEVEL=1 "$here/apt_install.sh" rabbitmq-server && [ -x "$server" ] && exit 0

echo "setup: missing for this test: rabbitmq-server" \
    "(Debian/Ubuntu: sudo apt-get install rabbitmq-server). Then run this again." >&2
exit 1
