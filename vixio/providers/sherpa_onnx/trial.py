"""Loads a model in a process of its own before the server loads it.

sherpa-onnx aborts the process on a model that it cannot use. ``asr_kinds`` and ``tts_kinds`` detect
missing files and metadata; this trial detects all other causes.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from vixio.core.errors import ProviderUnavailable
from vixio.core.tasks import undisturbed
from vixio.providers.registry import ProviderFactory
from vixio.providers.sherpa_onnx.folder import NAME

TIMEOUT = 180.0
"""Seconds for loading a model from a slow disk and running it once."""

_PLACE = re.compile(r"^\S+\.(?:cc|h):\S*?:?\d+\s+")
"""The source line of the library at the beginning of its messages."""
_HALF = 150
"""Characters of each end that are kept of a long message, which may quote a whole value."""


async def try_first(kind: Literal["asr", "tts"], folder: Path, options: str) -> None:
    """Load and run the model in a process of its own. ``options``: the settings as JSON.

    Raises ProviderUnavailable with the library's message. Cancellation ends the process.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vixio.providers.sherpa_onnx.trial", kind),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(TIMEOUT):
            _, said = await process.communicate(options.encode())
    except TimeoutError as error:
        raise ProviderUnavailable(NAME, f"loading {folder} took over {TIMEOUT:g} s") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await undisturbed(process.wait())
    if process.returncode != 0:
        raise ProviderUnavailable(NAME, _reason(said, folder))


def _reason(said: bytes, folder: Path) -> str:
    """Return the message of :func:`main`, or the first line of the library's output."""
    lines = [_PLACE.sub("", line).strip() for line in said.decode(errors="replace").splitlines()]
    for line in lines:
        if line.startswith(f"{NAME}: "):
            return line.removeprefix(f"{NAME}: ")
    words = next(filter(None, lines), "the library ended without a word")
    if len(words) > 2 * _HALF:
        words = f"{words[:_HALF]} … {words[-_HALF:]}"
    return f"cannot use {folder}: {words}"


def main(kind: str, options: str) -> int:
    """Load and run the model, in the process of the trial; return the exit status."""
    from vixio.providers.sherpa_onnx import asr, tts

    factory: ProviderFactory[Any, Any] = asr.FACTORY if kind == "asr" else tts.FACTORY
    try:
        factory.create(factory.settings_model.model_validate(json.loads(options))).load()
    except ProviderUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.stdin.read()))
