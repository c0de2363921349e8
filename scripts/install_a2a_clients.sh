#!/usr/bin/env bash
# The JavaScript clients of the A2A tests, with their packages, in a directory of their own.
# Usage: install_a2a_clients.sh DIRECTORY
set -euo pipefail

directory=$1
source=$(cd "$(dirname "$0")/.." && pwd)/tests/a2a/js

if ! command -v npm >/dev/null; then
    echo "the A2A clients need Node and npm, 20 or newer: https://nodejs.org/ (Debian: apt install npm)" >&2
    exit 1
fi
mkdir -p "$directory"
cp "$source"/package.json "$source"/*.mjs "$directory"
# No lock file: it would name the registry. The two packages are pinned, what they need is not.
npm install --prefix "$directory" --no-package-lock --no-audit --no-fund --ignore-scripts --loglevel=error
