"""What became of one part that was used, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

from vixio.core.errors import ProviderTimeout, VixioError
from vixio.settings.provider import ProviderSection

T = TypeVar("T")
SectionT = TypeVar("SectionT", bound=ProviderSection)

_SHOWN = 60
"""Characters of what was heard or answered."""


@dataclass
class Row:
    """One part; the times are in seconds, None where there is none."""

    part: str
    provider: str = ""
    ok: bool = True
    warn: bool = False
    """Whether it works, but ``detail`` says what could be better."""
    ready: float | None = None
    first: float | None = None
    total: float | None = None
    detail: str = ""
    """What came of it, or what is wrong and what to do."""
    sound: bytes = b""
    """What a voice has said, as a WAV file."""
    began: float = field(default_factory=perf_counter)

    @property
    def kind(self) -> str:
        """The kind of part: ``asr`` for ``asr[0]``, one of a list, too."""
        return self.part.partition("[")[0]

    def is_ready(self) -> None:
        """Count from here on: what was before was the loading."""
        now = perf_counter()
        if self.ready is None:
            self.ready = now - self.began
        self.began, self.first, self.total = now, None, None

    def has_first(self, at: float | None = None) -> None:
        """Note the first piece of the answer, which came now or ``at`` (``perf_counter``)."""
        if self.first is None:
            self.first = (perf_counter() if at is None else at) - self.began

    def is_done(self) -> None:
        """Note the end."""
        self.total = perf_counter() - self.began

    def fail(self, why: str) -> None:
        """Say what is wrong and what to do."""
        self.ok, self.detail = False, " ".join(why.split())


async def tried(row: Row, work: Callable[[Row], Awaitable[T]], default: T, limit: float) -> T:
    """Return what ``work`` gives, ``default`` when it fails; the row says how it went.

    ``limit``: seconds for all of it.
    """
    bound = asyncio.timeout(limit)
    try:
        async with bound:
            return await work(row)
    except ProviderTimeout as error:
        row.fail(f"{error}: it is too slow for a conversation, or see `timeouts` in the settings")
    except TimeoutError as error:
        row.fail(f"nothing came of it within {limit:g} s" if bound.expired() else f"{error}")
    except VixioError as error:
        row.fail(str(error))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a part is the answer
        row.fail(f"{type(error).__name__}: {error}")
    return default


def numbered(section: SectionT) -> list[tuple[str, SectionT]]:
    """Return the providers of a section, each with the name of its row."""
    each = section.each()
    if len(each) == 1:
        return [(section.kind.value, each[0])]
    return [(f"{section.kind.value}[{index}]", one) for index, one in enumerate(each)]


def quoted(text: str) -> str:
    """Return what was heard or said, short enough for a table."""
    words = " ".join(text.split())
    return f"“{words if len(words) <= _SHOWN else words[: _SHOWN - 1] + '…'}”"
