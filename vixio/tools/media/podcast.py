"""The episodes of a podcast, from its feed (RSS 2.0)."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree

from vixio.core.errors import SoundFailed
from vixio.tools.media.library import Item

MAX_FEED_BYTES: Final = 4_000_000
_MAX_EPISODES: Final = 100
_MAX_CHARS: Final = 200


def episodes(feed: bytes, podcast: Item) -> list[Item]:
    """Return them in the order of the feed, the newest first. Blocking. Raises SoundFailed.

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
