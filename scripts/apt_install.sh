#!/bin/sh
# Install system packages where that can be done without asking: as root on Debian and its kin.
# apt_install.sh PACKAGE... ; fails, silently, everywhere else.
set -eu

[ "$(id -u)" -eq 0 ] || exit 1
command -v apt-get >/dev/null || exit 1

export DEBIAN_FRONTEND=noninteractive
install() {
    apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
}

echo "setup: apt-get install $*" >&2
# The package lists may be there already; a fresh image has none.
install "$@" 2>/dev/null || { apt-get update -qq </dev/null >&2 && install "$@"; }
