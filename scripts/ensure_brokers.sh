#!/bin/sh
# Install the message brokers that the tests run and that no Python package has: ensure_brokers.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# That in /usr/sbin insists on a user of its own.
rabbitmq=${RABBITMQ_SERVER:-/usr/lib/rabbitmq/bin/rabbitmq-server}
mosquitto=${MOSQUITTO:-/usr/sbin/mosquitto}

found() {
    [ -x "$rabbitmq" ] && [ -x "$mosquitto" ]
}

found && exit 0

# Debian's packages start a service, unless they are installed in runlevel 1. The tests start servers
# of their own.
RUNLEVEL=1 "$here/apt_install.sh" rabbitmq-server mosquitto && found && exit 0

echo "setup: missing for this test: rabbitmq-server and mosquitto" \
    "(Debian/Ubuntu: sudo apt-get install rabbitmq-server mosquitto). Then run this again." >&2
exit 1
