"""Which devices people mean: by the name of one, by its place, or all."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vixio.core.device import normalise_device_id

_ARTICLE = re.compile(r"^(?:(?:in|at|to|for)\s+)?(?:the|my|our)\s+")
"""English; in other languages, models leave it out."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A device that can be spoken to. ``connected``: now, in any process of the server."""

    device_id: str
    name: str = ""
    place: str = ""
    connected: bool = False

    @property
    def called(self) -> str:
        """What people call it."""
        return self.name or self.place


class Listeners(ABC):
    """The devices of a server, as people call them."""

    @abstractmethod
    def all(self) -> Sequence[Listener]:
        """Return all devices that may be spoken to."""

    @abstractmethod
    def find(self, device_id: str) -> Listener | None:
        """Return a device by its id, in its one spelling; None for one that cannot be spoken to."""

    def named(self, words: str) -> list[Listener]:
        """Return the devices of this name; without one, those at this place, or of this id."""
        wanted = _plain(words)
        device_id = normalise_device_id(words)
        everyone = self.all()
        for found in (
            [each for each in everyone if wanted and _plain(each.name) == wanted],
            [each for each in everyone if wanted and _plain(each.place) == wanted],
            [each for each in everyone if each.device_id == device_id],
        ):
            if found:
                return found
        return []

    def for_all(self, but: str = "") -> list[Listener]:
        """Return who hears an announcement: whoever is connected or has a name, but not ``but``."""
        return [
            each for each in self.all() if each.device_id != but and (each.connected or each.called)
        ]


def names_of(listeners: Iterable[Listener]) -> list[str]:
    """Return what people call these devices, sorted."""
    return sorted({each.called for each in listeners if each.called})


def _plain(words: str) -> str:
    plain = " ".join(words.casefold().split()).strip(" .!?")
    return _ARTICLE.sub("", plain)
