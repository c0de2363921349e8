"""What there is to play: files with their tags, playlists, stations and podcasts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Final, Literal
from xml.etree import ElementTree

from vixio.core.errors import SoundFailed
from vixio.tools.media.settings import MediaSettings

Kind = Literal["music", "story", "podcast", "radio"]

SUFFIXES: Final = frozenset({".mp3", ".flac", ".ogg", ".oga", ".wav"})
LISTS: Final = frozenset({".m3u", ".m3u8", ".pls"})

MAX_FILES: Final = 100_000
"""Of all folders; a tenth of a gigabyte of names and tags."""

MAX_LIST_BYTES: Final = 1_000_000
MAX_FEED_BYTES: Final = 4_000_000
_MAX_EPISODES: Final = 100
_MAX_LISTED: Final = 5_000
_MAX_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Item:
    """Something to play. ``place``: a path or an address. ``groups``: names of the folders and
    playlists that it is in. ``number``: its order in its album. ``trusted``: the operator gave
    the address, so it may lie in the private network. ``rate``: Hz, 0 if unknown. ``data``: the
    audio itself, where a tool has returned it; then it has no place."""

    title: str
    place: str
    kind: Kind = "music"
    artist: str = ""
    album: str = ""
    genre: str = ""
    groups: tuple[str, ...] = ()
    number: int = 0
    rate: int = 0
    trusted: bool = True
    data: bytes = field(default=b"", repr=False)

    @property
    def remote(self) -> bool:
        """Whether it comes over the network."""
        return self.place.startswith(("http://", "https://"))

    @property
    def shown(self) -> str:
        """The words for a screen."""
        return f"{self.artist} – {self.title}" if self.artist else self.title


class Scanner:
    """Reads folders; tags are read once while a file does not change. Blocking: for a thread."""

    def __init__(self, settings: MediaSettings, *, trusted: bool = True) -> None:
        """``trusted``: the operator gave the addresses of stations and podcasts."""
        self._settings = settings
        self._trusted = trusted
        self._known: dict[str, tuple[tuple[int, float], Item]] = {}
        self.problem = ""
        """What could not be read of the folders, one line."""
        self.stopped = False
        """Set it to end a scan early."""

    def scan(self) -> list[Item]:
        """Return all that there is now."""
        settings, known = self._settings, self._known
        self.problem, self._known = "", {}
        found: list[Item] = []
        for kind, folders in (("music", settings.folders), ("story", settings.stories)):
            for folder in folders:
                found += self._folder(Path(folder).expanduser(), kind, known)  # type: ignore[arg-type]  # a literal of Kind
        for name, place in settings.stations.items():
            found.append(Item(name, place, "radio", trusted=self._trusted))
        for name, place in settings.podcasts.items():
            found.append(Item(name, place, "podcast", trusted=self._trusted))
        return found

    def _folder(
        self, root: Path, kind: Kind, known: dict[str, tuple[tuple[int, float], Item]]
    ) -> list[Item]:
        if not root.is_dir():
            self.problem = f"{root} is no folder that can be read"
            return []
        items: dict[str, Item] = {}
        lists: list[Path] = []
        for path in _files(root):
            if self.stopped:
                break
            if path.suffix.lower() in LISTS:
                lists.append(path)
            elif len(self._known) < MAX_FILES:
                place = str(path)
                try:
                    stat = path.stat()
                except OSError:
                    continue
                mark = (stat.st_size, stat.st_mtime)
                old = known.get(place)
                item = old[1] if old and old[0] == mark else _read(path, root, kind)
                self._known[place] = (mark, item)
                items[place] = item
            else:
                self.problem = f"{root} has more than {MAX_FILES} files: the rest is left out"
        for path in lists:
            _add_list(path, kind, items)
        return list(items.values())


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            suffix = PurePath(name).suffix.lower()
            if not name.startswith(".") and (suffix in SUFFIXES or suffix in LISTS):
                yield Path(folder, name)


def _read(path: Path, root: Path, kind: Kind) -> Item:
    """Return the item of a file; one without tags is named by its file and folders."""
    from tinytag import TinyTag, TinyTagException

    groups = path.relative_to(root).parent.parts
    try:
        tag = TinyTag.get(path)
    except (TinyTagException, OSError, ValueError, LookupError, ArithmeticError, TypeError):
        return Item(_plain(path.stem), str(path), kind, groups=groups)
    return Item(
        _plain(tag.title or path.stem),
        str(path),
        kind,
        _plain(tag.artist or ""),
        _plain(tag.album or ""),
        _plain(tag.genre or ""),
        groups,
        (tag.disc or 0) * 1_000 + (tag.track or 0),
        tag.samplerate or 0,
    )


def _plain(text: str) -> str:
    return " ".join(text.replace("_", " ").replace("\0", " ").split())[:_MAX_CHARS]


def _add_list(path: Path, kind: Kind, items: dict[str, Item]) -> None:
    """Give the files of a playlist its name, and add the addresses in it."""
    try:
        with path.open("rb") as opened:
            text = opened.read(MAX_LIST_BYTES).decode("utf-8", "replace")
    except OSError:
        return
    for title, place in entries(text):
        if not place.startswith(("http://", "https://")):
            file = os.path.normpath(path.parent / place)
            if file in items:  # others lie outside of the folders
                item = items[file]
                items[file] = replace(item, groups=(*item.groups, path.stem))
        elif place not in items:
            items[place] = Item(_plain(title or path.stem), place, "radio", groups=(path.stem,))


def entries(text: str) -> list[tuple[str, str]]:
    """Return titles and places of a playlist: M3U, extended or not, or PLS."""
    lines = [line.strip() for line in text.lstrip("\ufeff").splitlines()]
    if any(line.lower() == "[playlist]" for line in lines[:3]):
        values = dict(_pairs(lines))
        numbers = sorted(int(key[4:]) for key in values if key[:4] == "file" and key[4:].isdigit())
        found = [(values.get(f"title{each}", ""), values[f"file{each}"]) for each in numbers]
        return found[:_MAX_LISTED]
    found, title = [], ""
    for line in lines:
        if line.startswith("#EXTINF:"):
            title = line.partition(",")[2].strip()
        elif line and not line.startswith("#"):
            found.append((title, line))
            title = ""
    return found[:_MAX_LISTED]


def _pairs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        key, found, value = line.partition("=")
        if found:
            yield key.strip().lower(), value.strip()


def episodes(feed: bytes, podcast: Item) -> list[Item]:
    """Return those of a feed (RSS 2.0), the newest first. Blocking. Raises SoundFailed.

    Their addresses are the feed's, not the operator's.
    """
    if b"<!DOCTYPE" in feed[:1_000] or b"<!ENTITY" in feed:
        raise SoundFailed("media_format", "a feed with definitions of its own is not read")
    try:
        root = ElementTree.fromstring(feed)  # noqa: S314 - no entities, see above
    except ElementTree.ParseError:
        raise SoundFailed("media_format", "the feed is no XML") from None
    found: list[Item] = []
    for entry in root.iter("item"):
        enclosure = entry.find("enclosure")
        place = enclosure.get("url", "") if enclosure is not None else ""
        if place.startswith(("http://", "https://")) and len(found) < _MAX_EPISODES:
            title = " ".join((entry.findtext("title") or podcast.title).split())[:_MAX_CHARS]
            found.append(Item(title, place, "podcast", podcast.title, trusted=False))
    if not found:
        raise SoundFailed("media_gone", "the feed has no episodes with sound")
    return found
