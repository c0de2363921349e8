"""Writes a watcher's part of the stream as server-sent events, while its token is good."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi.sse import format_sse_event
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from vixio.core.wall_clock import now_ms
from vixio.core.well_formed import well_formed
from vixio.data.devices.records import NotKnown
from vixio.transports.admission.access import RegistryUnavailable
from vixio.web.api.access import Principal
from vixio.web.api.event_visibility import seen, sees
from vixio.web.api.keys import Keys
from vixio.web.api.service import ApiService
from vixio.web.feed.entry import Entry
from vixio.web.feed.watch import Batch, Watch

MEDIA_TYPE: Final = "text/event-stream"

PING_S: Final = 15.0
"""Between signs of life, each of which brings the id up to date, and a look at the token."""

RETRY_MS: Final = 2_000
"""After which a browser comes back."""

MISSED: Final = {"type": "missed"}
"""Something was lost: read again what you show."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a watcher asks for. ``device_id``: empty: of all. ``types``: beginnings; empty: all."""

    device_id: str = ""
    types: tuple[str, ...] = ()

    def has(self, entry: Entry) -> bool:
        """Whether it asks for an entry."""
        return (not self.device_id or entry.device_id == self.device_id) and (
            not self.types or any(_begins(entry.type, each) for each in self.types)
        )


class EventStream(StreamingResponse):
    """The answer with what ``watch`` sees. ``ended`` is called at its end, however it ends."""

    def __init__(
        self,
        watch: Watch,
        who: Principal,
        wish: Wish,
        service: ApiService,
        ended: Callable[[], None],
    ) -> None:
        headers = {"X-Accel-Buffering": "no"}  # for nginx, which else gathers what it passes on
        super().__init__(_write(watch, who, wish, service), headers=headers, media_type=MEDIA_TYPE)
        self._watch = watch
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._watch.close()
            self._ended()


async def _write(
    watch: Watch, who: Principal, wish: Wish, service: ApiService
) -> AsyncIterator[bytes]:
    """Yield pieces of the stream until the server stops or the token is no longer good."""
    yield format_sse_event(retry=RETRY_MS)
    while (batch := await watch.next(PING_S)) is not None:
        yield _written(batch, who, wish)
        if (not batch.seen or _own_token(batch, who)) and not await _good(service, who):
            return


def _written(batch: Batch, who: Principal, wish: Wish) -> bytes:
    """Return a batch as the watcher may see it.

    An id without an event counts as well, so nothing that is left out is gone through again.
    """
    pieces = [_piece(MISSED)] if batch.missed else []
    last = ""
    for entry, its_id in batch.seen:
        piece = _seen_piece(entry, who) if wish.has(entry) else None
        if piece is not None:
            pieces += (b"id: ", its_id.encode(), b"\n", piece)
            last = its_id
    if last != batch.id:
        pieces.append(format_sse_event(id=batch.id))
    return b"".join(pieces)


def _seen_piece(entry: Entry, who: Principal) -> bytes | None:
    """Return an entry as the watcher may see it, without its id; None: not at all.

    It is made once for all that may see the same of it: ten consoles cost hardly more than one.
    """
    visible = sees(entry, who)
    if visible is None:
        return None
    piece = entry.written.get(visible)
    if piece is None:
        piece = entry.written[visible] = _piece(seen(entry, visible))
    return piece


def _piece(event: Mapping[str, Any]) -> bytes:
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return format_sse_event(data_str=well_formed(text))


def _begins(kind: str, beginning: str) -> bool:
    return kind == beginning or kind.startswith(f"{beginning}.")


def _own_token(batch: Batch, who: Principal) -> bool:
    entries = (entry for entry, _ in batch.seen if entry.about == "api-token")
    return any(entry.fields.get("key") == who.token_id for entry in entries)


async def _good(service: ApiService, who: Principal) -> bool:
    """Whether a token is still good. While nobody can tell, it is."""
    try:
        key = await service.use(lambda database: Keys(database).find(who.token_id))
    except NotKnown:
        return False
    except RegistryUnavailable:
        return True
    return key.state(now_ms()) == "valid"
