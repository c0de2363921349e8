#!/bin/sh
# Print the path of a Python that can run Vixio (3.11 or newer), or say what to install.
# PYTHON=... in the environment names one and is then the only candidate.
set -eu

# 3.12 comes last of the named ones: PocketSphinx has fewer ready-made wheels for it.
candidates=${PYTHON:-python3.13 python3.11 python3.12 python3 python}

for candidate in $candidates; do
    # A command of that name may exist and yet not run (version managers), so each is tried.
    path=$("$candidate" -c '
import sys
if sys.version_info < (3, 11):
    sys.exit(1)
print(sys.executable)' 2>/dev/null </dev/null) || continue
    echo "$path"
    exit 0
done

echo "setup: no Python 3.11 or newer among: $candidates." \
    "Debian/Ubuntu: apt-get install python3 python3-venv; Fedora: dnf install python3;" \
    "macOS: brew install python@3.13" >&2
exit 1
