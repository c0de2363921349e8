#!/bin/sh
# Install pinned packages: install_lock.sh VENV LOCKFILE...
# With TARGET=DIRECTORY they go there instead of into the environment. (Not PIP_TARGET: pip would
# hand that on to the environments in which it builds packages, and fail there.) Such packages are for
# tests, which import a small part of them: Python compiles that at its first import, in a fifth of the
# time that pip takes for all of torch.
set -eu

python=$1/bin/python
shift

here=$(cd "$(dirname "$0")/.." && pwd)

# The pins hold for build environments too (opuslib is built from source). pip read the one
# variable for that before 25.3 and reads the other since.
PIP_CONSTRAINT=$here/requirements/base.lock
PIP_BUILD_CONSTRAINT=$PIP_CONSTRAINT
export PIP_CONSTRAINT PIP_BUILD_CONSTRAINT

count=$(cat "$@" | grep -v '^#' | sort -u | grep -c .)
[ "$count" -eq 1 ] && packages=package || packages=packages
echo "setup:   $(echo "$*" | sed "s|$here/||g"): $count $packages" >&2

files=
for lock in "$@"; do
    files="$files -r $lock"
done
# --no-deps: the lock is complete (docs/installation.md).
# shellcheck disable=SC2086 # one word an option and a file
if ! "$python" "$here/scripts/pip_install.py" "$count" --no-deps \
    ${TARGET:+--no-compile --target "$TARGET"} $files; then
    echo "setup: $* could not be installed. If a package had to be compiled:" \
        "only Python 3.11 and 3.13 have ready-made wheels on every platform;" \
        "'make clean', then 'make setup PYTHON=python3.13'" >&2
    exit 1
fi
