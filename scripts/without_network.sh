#!/bin/sh
# Run a command that reaches this machine's loopback alone: without_network.sh COMMAND…
#
# It gets a network of its own, where whatever listens on all interfaces can be reached by nobody else,
# and process ids of its own, so that what it leaves running ends with it.
set -eu

for command in unshare ip; do
    command -v "$command" >/dev/null || PATH=$PATH:/usr/sbin:/sbin command -v "$command" >/dev/null || {
        echo "setup: missing: $command (Debian/Ubuntu: sudo apt-get install util-linux iproute2)" >&2
        exit 1
    }
done

# Anyone may do so in a user namespace, where the system allows these.
[ "$(id -u)" -eq 0 ] && as= || as=--map-root-user

PATH=$PATH:/usr/sbin:/sbin
# shellcheck disable=SC2016,SC2086 # expanded by the inner shell; no option is no word
exec unshare $as --net --pid --fork --kill-child --mount-proc \
    sh -c 'ip link set lo up; "$@"; exit $?' sh "$@"
