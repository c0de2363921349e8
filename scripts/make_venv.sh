#!/bin/sh
# Make the virtual environment: make_venv.sh DIRECTORY. One that works is kept.
set -eu

venv=$1

if [ -x "$venv/bin/python" ] &&
    "$venv/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    exit 0
fi

here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/find_python.sh")

# Debian and Ubuntu split ensurepip off into a package of its own.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    package="python$version-venv"
    if ! "$here/apt_install.sh" "$package"; then
        echo "setup: $python cannot make virtual environments." \
            "Debian/Ubuntu: apt-get install $package; elsewhere: a Python with ensurepip" >&2
        exit 1
    fi
fi

echo "setup: virtual environment $venv with $("$python" -V) ($python)"
"$python" -m venv --clear "$venv"
