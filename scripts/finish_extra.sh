#!/bin/sh
# What extras need besides packages with pins: finish_extra.sh VENV NAME...
# Each scripts/extras/NAME.sh is run with the environment's Python. It may be run again at any time,
# and does then nothing that is done already.
set -eu

venv=$1
shift
here=$(cd "$(dirname "$0")" && pwd)

for name in "$@"; do
    [ ! -x "$here/extras/$name.sh" ] || "$here/extras/$name.sh" "$venv/bin/python"
done
