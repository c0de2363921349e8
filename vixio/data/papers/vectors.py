"""Meanings of passages as vectors, kept in memory while a service for embeddings is configured."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from vixio.core.errors import VixioError

if TYPE_CHECKING:
    import numpy as np

Embed = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]
"""Returns a vector for each text. Raises VixioError."""

Read = Callable[[str, int], Awaitable[Sequence[tuple[int, str, bytes]]]]
"""Returns number, owner and vector of some passages with vectors of a model, behind a number."""


class EmbeddingsError(VixioError):
    """The service's answer cannot be used. One line."""


class Vectors:
    """Those of all passages, as rows of one matrix: 4 KB for each of 1,024 dimensions."""

    def __init__(self, embed: Embed, model: str) -> None:
        self.model = model
        self._embed = embed
        self._numbers: list[int] = []
        self._owners: list[str] = []
        self._matrix: np.ndarray | None = None
        self._last = -1
        self._reading = asyncio.Lock()

    async def make(self, texts: Sequence[str]) -> list[bytes]:
        """Ask the service for the vectors of texts. Raises VixioError."""
        import numpy as np

        answers = await self._embed(texts)
        made = []
        for answer in answers:
            vector = np.asarray(answer, dtype=np.float32)
            length = float(np.linalg.norm(vector)) if vector.ndim == 1 else 0.0
            if not (np.isfinite(length) and length):
                raise EmbeddingsError("an answer of the service is no vector")
            made.append((vector / length).tobytes())
        wanted = {4 * self._matrix.shape[1]} if self._matrix is not None else set[int]()
        if len(wanted | {len(each) for each in made}) > 1 or len(made) != len(texts):
            raise EmbeddingsError(
                "the service's vectors have another dimension than before: "
                "name another model under papers.embeddings"
            )
        return made

    async def catch_up(self, read: Read) -> None:
        """Take what was added. Raises what ``read`` raises."""
        import numpy as np

        async with self._reading:
            while rows := await read(self.model, self._last):
                self._last = rows[-1][0]
                width = len(rows[0][2]) if self._matrix is None else 4 * self._matrix.shape[1]
                good = [row for row in rows if len(row[2]) == width]
                parts = [np.frombuffer(vector, np.float32) for _, _, vector in good]
                before = [self._matrix] if self._matrix is not None else []
                matrix = await asyncio.to_thread(np.vstack, [*before, *parts]) if parts else None
                self._matrix = matrix if matrix is not None else self._matrix
                self._numbers += [number for number, _, _ in good]
                self._owners += [owner for _, owner, _ in good]

    def forget(self) -> None:
        """Read all anew, when documents were removed."""
        self._numbers, self._owners, self._matrix, self._last = [], [], None, -1

    async def nearest(
        self, question: str, owners: Sequence[str], least: float, limit: int
    ) -> Sequence[int]:
        """Return the numbers of passages that mean most of a question, the best first.

        ``least``: cosine of the angle to it. Raises VixioError.
        """
        matrix = self._matrix
        if matrix is None:
            return []
        numbers, whose = list(self._numbers), list(self._owners)
        (vector,) = await self.make([question])

        def sort() -> list[int]:
            import numpy as np

            likeness = matrix @ np.frombuffer(vector, np.float32)
            mine = np.fromiter((owner in owners for owner in whose), bool, len(whose))
            likeness[~mine] = -2
            order = np.argsort(-likeness)[:limit]
            return [numbers[at] for at in order if likeness[at] >= least]

        return await asyncio.to_thread(sort)
