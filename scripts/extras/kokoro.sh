#!/bin/sh
# Kokoro's voices, which no wheel carries: kokoro.sh PYTHON
set -eu

echo "setup: the voices of Kokoro, 26 MB" >&2
PYTHONPATH=$(cd "$(dirname "$0")/../.." && pwd) exec "$1" -m vixio.providers.kokoro.fetch >&2
