"""Has documents read by a program of its own, one at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vixio.core.children import command, environment
from vixio.core.extras import how_to_install
from vixio.data.papers.records import PaperError, Passage

_SPARE_S: Final = 30.0
"""That a document may take beyond what it computes, on a busy machine."""

_NO_MORE: Final = "reading it takes too long or too much memory: divide it"


@dataclass(frozen=True, slots=True)
class PaperLimits:
    """What one document may have. ``size``: bytes of the file; ``chars``: of its text;
    ``seconds``: of a processor, to read it."""

    size: int = 50 * 2**20
    pages: int = 2_000
    chars: int = 8_000_000
    seconds: int = 60


class PaperReader:
    """Reads documents for one process."""

    def __init__(self, limits: PaperLimits) -> None:
        self.limits = limits
        self._one = asyncio.Semaphore(1)

    async def read(self, name: str, content: bytes) -> Sequence[Passage]:
        """Return the passages of a document. Raises PaperError: why it cannot be read."""
        limits = self.limits
        if len(content) > limits.size:
            raise PaperError(f"it has more than {limits.size // 2**20} MB: divide it")
        async with self._one:
            process = await asyncio.create_subprocess_exec(
                *command(
                    "vixio.data.papers.reading",
                    name,
                    *map(str, (limits.pages, limits.chars, limits.seconds)),
                ),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=environment(),
            )
            try:
                async with asyncio.timeout(limits.seconds + _SPARE_S):
                    output, _ = await process.communicate(content)
            except TimeoutError:
                raise PaperError(_NO_MORE) from None
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if process.returncode:
            raise PaperError(_NO_MORE)
        return await asyncio.to_thread(_passages, output)


def _passages(output: bytes) -> Sequence[Passage]:
    found = []
    for line in output.splitlines():
        match json.loads(line):
            case {"error": str(problem)}:
                raise PaperError(problem)
            case {"missing": str()}:
                raise PaperError(f"nothing here reads it: {how_to_install('papers')}")
            case {"page": page, "heading": heading, "text": text, "words": [title, words]}:
                found.append(Passage(page, heading, text, (title, words)))
    return found
