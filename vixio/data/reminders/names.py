"""Which devices people mean: by the name of one, by its place, or all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
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
    user: str = ""
    """Whose it is; empty: nobody's, or that of all."""
    connected: bool = False

    @property
    def called(self) -> str:
        """What people call it."""
        return self.name or self.place


class Listeners:
    """The devices of a server, as people call them.

    ``everyone`` returns all that may be spoken to; ``find`` one by its id, in its one spelling,
    None for one that cannot be spoken to.
    """

    def __init__(
        self, everyone: Callable[[], Sequence[Listener]], find: Callable[[str], Listener | None]
    ) -> None:
        self.all = everyone
        self.find = find

    def named(self, words: str, but: str = "") -> list[Listener]:
        """Return the devices of this name; without one, those at this place, of this person, or
        of this id. Of a person's devices, those that are connected, if any is. Not ``but``."""
        wanted = _plain(words)
        device_id = normalise_device_id(words)
        everyone = [each for each in self.all() if each.device_id != but]
        for found in (
            [each for each in everyone if wanted and _plain(each.name) == wanted],
            [each for each in everyone if wanted and _plain(each.place) == wanted],
            _within_reach([each for each in everyone if wanted and _plain(each.user) == wanted]),
            [each for each in everyone if each.device_id == device_id],
        ):
            if found:
                return found
        return []

    def places(self) -> dict[str, list[Listener]]:
        """Return the devices of each place, sorted; places differ by more than case and article."""
        found: dict[str, tuple[str, list[Listener]]] = {}
        for each in self.all():
            if plain := _plain(each.place):
                found.setdefault(plain, (each.place, []))[1].append(each)
        return dict(sorted(found.values()))

    def at(self, place: str) -> list[Listener]:
        """Return the devices at a place."""
        wanted = _plain(place)
        return [each for each in self.all() if wanted and _plain(each.place) == wanted]

    def for_all(self, but: str = "") -> list[Listener]:
        """Return who hears an announcement: whoever is connected or has a name, but not ``but``."""
        return [
            each for each in self.all() if each.device_id != but and (each.connected or each.called)
        ]


def names_of(listeners: Iterable[Listener]) -> list[str]:
    """Return the words that mean one of these devices, sorted."""
    named = {name for each in listeners for name in (each.called, each.user)}
    return sorted(name for name in named if name)


def _within_reach(listeners: list[Listener]) -> list[Listener]:
    """Return those that are connected; if none is, all."""
    return [each for each in listeners if each.connected] or listeners


def _plain(words: str) -> str:
    plain = " ".join(words.casefold().split()).strip(" .!?")
    return _ARTICLE.sub("", plain)
