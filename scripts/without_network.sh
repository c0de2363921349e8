#!/bin/sh
# Run a command that reaches this machine's loopback alone: without_network.sh COMMAND…
#
# It gets a network of its own, where nobody else reaches what listens on all interfaces, and process
# ids of its own, so that what it leaves running ends with it. Linux alone has this.
set -eu

PATH=$PATH:/usr/sbin:/sbin
for command in unshare ip; do
    command -v "$command" >/dev/null || {
        echo "setup: missing for this test: $command" \
            "(Linux alone; Debian/Ubuntu: sudo apt-get install util-linux iproute2)" >&2
        exit 1
    }
done

# Who is not root may do so in a user namespace, where the system allows these.
[ "$(id -u)" -eq 0 ] && as='' || as=--map-root-user

# shellcheck disable=SC2016,SC2086 # the inner shell expands it; no option is no word
exec unshare $as --net --pid --fork --kill-child --mount-proc \
    sh -c 'ip link set lo up; "$@"; exit $?' sh "$@"
