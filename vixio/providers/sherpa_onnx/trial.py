"""A model is loaded in a process of its own before it is loaded in the server's.

sherpa-onnx answers what it does not like about a model with the end of the process. What a look at
the files shows is told before (``asr_kinds``, ``tts_kinds``); this is for the rest.
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
from vixio.providers.registry import ProviderFactory
from vixio.providers.sherpa_onnx.folder import NAME

TIMEOUT = 180.0
"""Seconds for loading a model from a slow disk and running it once."""

_PLACE = re.compile(r"^\S+\.(?:cc|h):\S*?:?\d+\s+")
"""The library's own source line in front of what it has to say."""
_HALF = 150
"""Characters of each end that are told of something longer, as a model's whole normalisation."""


async def try_first(kind: Literal["asr", "tts"], folder: Path, options: str) -> None:
    """Load and run the model of ``options``, settings as JSON, elsewhere.

    Raises ProviderUnavailable with the library's own words. Cancelled, it leaves no process.
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
            await process.wait()
    if process.returncode != 0:
        raise ProviderUnavailable(NAME, _reason(said, folder))


def _reason(said: bytes, folder: Path) -> str:
    """Return our own message, or the library's first line; later ones are advice."""
    lines = [_PLACE.sub("", line).strip() for line in said.decode(errors="replace").splitlines()]
    for line in lines:
        if line.startswith(f"{NAME}: "):
            return line.removeprefix(f"{NAME}: ")
    words = next(filter(None, lines), "the library ended without a word")
    if len(words) > 2 * _HALF:
        words = f"{words[:_HALF]} … {words[-_HALF:]}"
    return f"cannot use {folder}: {words}"


def main(kind: str, options: str) -> int:
    """Do in the process of its own what :func:`try_first` asks for; return the exit status."""
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
