#!/usr/bin/env bash
# What checks the console's JavaScript: its types and its accessibility, in a directory of its own.
# Usage: install_console_checks.sh DIRECTORY
set -euo pipefail

directory=$1
source=$(cd "$(dirname "$0")/.." && pwd)/tests/console/js

if ! command -v npm >/dev/null; then
    echo "the checks of the console need Node and npm, 20 or newer: https://nodejs.org/ (Debian: apt install npm)" >&2
    exit 1
fi
mkdir -p "$directory"
cp "$source"/package.json "$source"/package-lock.json "$directory"
# The lock file has versions alone: the addresses are those of the registry that npm is set to.
npm ci --prefix "$directory" --no-audit --no-fund --ignore-scripts --loglevel=error
