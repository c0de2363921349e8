#!/bin/sh
# Install extras of pyproject.toml into an environment that `make setup` made:
# install_extra.sh VENV NAME...
# An extra is its lock, requirements/NAME.lock, and what scripts/extras/NAME.sh does behind it.
set -eu

venv=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

# The locks hold sets for tests as well; pyproject.toml says which ones are extras.
known=$("$venv/bin/python" - "$root/pyproject.toml" <<'END'
import sys, tomllib
with open(sys.argv[1], "rb") as file:
    print(*sorted(tomllib.load(file)["project"]["optional-dependencies"]))
END
)
if [ $# -eq 0 ]; then
    echo "setup: NAME= is missing: make extra NAME=\"edge mp3\". There are: $known" >&2
    exit 2
fi
for name in "$@"; do
    case " $known " in
    *" $name "*) ;;
    *)
        echo "setup: there is no extra '$name'. There are: $known" >&2
        exit 2
        ;;
    esac
done

for name in "$@"; do
    echo "setup: extra $name" >&2
    "$here/install_lock.sh" "$venv" "$root/requirements/$name.lock"
    "$here/finish_extra.sh" "$venv" "$name"
    # A later `make setup` installs it again when its lock has changed.
    touch "$venv/.extra-$name"
done
echo "setup: done: $*" >&2
