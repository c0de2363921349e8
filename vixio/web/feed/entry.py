"""One event of the stream."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

DEVICE: Final = "device"
"""What most entries are about: see :attr:`Entry.about`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """``source`` and ``number``: its place. ``at``: milliseconds since 1970.

    ``about``: the kind of thing that it concerns, by which it is decided who may see it.
    ``device_id``: empty where it concerns no device. ``words`` are those fields that only readers
    of conversations may see.
    """

    source: str
    number: int
    at: int
    type: str
    about: str
    device_id: str
    fields: Mapping[str, Any]
    words: Mapping[str, Any]
    written: dict[Hashable, bytes] = field(default_factory=dict, compare=False, repr=False)
    """For who writes it to several watchers: as it was written, by what they may see of it."""

    def to_json(self) -> dict[str, Any]:
        """Return it for another process."""
        return {
            "source": self.source,
            "number": self.number,
            "at": self.at,
            "type": self.type,
            "about": self.about,
            "device_id": self.device_id,
            "fields": dict(self.fields),
            "words": dict(self.words),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Entry | None:
        """Read what :meth:`to_json` made; None for anything else."""
        match data:
            case {
                "source": str(source),
                "number": int(number),
                "at": int(at),
                "type": str(kind),
                "about": str(about),
                "device_id": str(device_id),
                "fields": dict(fields),
                "words": dict(words),
            }:
                return cls(source, number, at, kind, about, device_id, fields, words)
        return None
