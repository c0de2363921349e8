#!/bin/sh
# Install Vixio without its dependencies, which install_lock.sh has put in place.
# install_project.sh VENV editable   the checkout itself, the simulated device, the benchmarks
# install_project.sh VENV copy       a copy of the package, for an image
set -eu

python=$(cd "$1" && pwd)/bin/python
cd "$(dirname "$0")/.."

case $2 in
editable) set -- --editable . --editable ./firmware-test-client --editable ./bench ;;
copy) set -- . ;;
*)
    echo "install_project.sh: editable or copy, not '$2'" >&2
    exit 2
    ;;
esac

# --no-build-isolation: the build backend comes from the lock, not from wherever pip looks.
exec "$python" -m pip install --quiet --no-input --disable-pip-version-check \
    --no-deps --no-build-isolation "$@"
