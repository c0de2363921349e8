"""Writes many turns as one JSON document, part by part."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from typing import Final, Self

from starlette.responses import StreamingResponse

from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository, Turns
from vixio.data.devices.records import RegistryError
from vixio.transports.admission.access import RegistryUnavailable
from vixio.web.api.service import ApiService

MEDIA_TYPE: Final = "application/json"

_log = logging.getLogger(__name__)


class TurnStream(StreamingResponse):
    """``{"turns": [...]}`` with all of ``turns``, however many there are.

    A device may have thousands: they are neither held at once nor encoded in one go, which would
    keep the event loop from its other work. If the database fails on the way, the document ends
    without its last brackets.
    """

    def __init__(self, service: ApiService, turns: Turns, first: Sequence[TurnRecord]) -> None:
        super().__init__(_write(service, turns, first), media_type=MEDIA_TYPE)
        self.empty = not first

    @classmethod
    async def begin(cls, service: ApiService, turns: Turns) -> Self:
        """Read the first part, so that what fails at once is an answer of its own.

        Raises RegistryUnavailable.
        """
        return cls(service, turns, await _read(service, turns, None))


async def _write(
    service: ApiService, turns: Turns, part: Sequence[TurnRecord]
) -> AsyncIterator[str]:
    """Yield the document; ``part``: its first turns."""
    yield '{"turns":['
    before = ""
    while part:
        yield before + ",".join(map(_json, part))
        before = ","
        try:
            part = await _read(service, turns, part[-1])
        except (RegistryUnavailable, RegistryError) as error:
            _log.warning("an answer with turns was not finished", extra={"reason": str(error)})
            return
    yield "]}"


async def _read(
    service: ApiService, turns: Turns, after: TurnRecord | None
) -> Sequence[TurnRecord]:
    return await service.use(lambda database: ConversationRepository(database).part(turns, after))


def _json(record: TurnRecord) -> str:
    return json.dumps(asdict(record), ensure_ascii=False, separators=(",", ":"))
