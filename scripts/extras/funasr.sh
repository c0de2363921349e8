#!/bin/sh
# FunASR runs on torch, whose build depends on the machine: funasr.sh PYTHON
# A torch that is there is kept. TORCH_INDEX=ADDRESS names an index to look in besides pip's own.
set -eu

python=$1
here=$(cd "$(dirname "$0")/../.." && pwd)
lock=$here/requirements/torch.lock

if version=$("$python" -c 'import torch; print(torch.__version__)' 2>/dev/null); then
    echo "setup: torch $version is there" >&2
    exit 0
fi

echo "setup: torch" >&2
if [ "$(uname)" = Linux ] && [ -z "${TORCH_INDEX:-}" ] && [ ! -e /dev/nvidiactl ]; then
    echo "setup:   where pip finds no other build, this is the one for NVIDIA cards, several GB;" \
        "TORCH_INDEX=ADDRESS names the index of the CPU build (0.2 GB), see pytorch.org" >&2
fi
# With dependencies, unlike the locks: a build for CUDA needs libraries that no lock names.
PIP_CONSTRAINT=$here/requirements/base.lock
export PIP_CONSTRAINT
"$python" "$here/scripts/pip_install.py" "$(grep -vc '^#' "$lock")" \
    ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} -r "$lock" -c "$here/requirements/funasr.lock"
"$python" -c 'import torch' || {
    echo "setup: torch is installed and cannot be loaded; see docs/installation.md" >&2
    exit 1
}
