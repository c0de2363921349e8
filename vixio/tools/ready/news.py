"""News: the newest headlines of RSS and Atom feeds, read by feedparser."""

from __future__ import annotations

import asyncio
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final

import yaml

from vixio.core.errors import UNAVAILABLE, ToolError
from vixio.core.language_tags import primary
from vixio.core.messages import message
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject
from vixio.core.well_formed import well_formed
from vixio.tools.ready.service import Kept, Service
from vixio.tools.ready.settings import NewsSettings
from vixio.tools.rest.client import RestAnswer

MAX_HEADLINE_CHARS: Final = 160
MAX_ENTRIES: Final = 20
"""Of a feed."""

ANY: Final = "*"
_FIRST_WIDE: Final = "\u2e80"
"""Of the characters of East Asia."""

_TAG: Final = re.compile(r"<[^>]{0,500}>")


@dataclass(frozen=True, slots=True)
class Feed:
    """``title``: of the feed; ``headlines``: the newest first, as the feed has them."""

    title: str
    headlines: tuple[str, ...]


class Headlines:
    """The tool ``get_news``."""

    def __init__(self, settings: NewsSettings) -> None:
        self._settings = settings
        self.service = Service("news", settings.timeout)
        self._feeds: Kept[Feed] = Kept(settings.keep)
        self._packaged: dict[str, list[str]] = {}

    def load(self) -> None:
        """Import the library and read the list. Blocking. Raises ImportError."""
        import feedparser  # noqa: F401 - so that the first call does not wait for it

        text = Path(__file__).with_name("feeds.yaml").read_text("utf-8")
        self._packaged = yaml.safe_load(text)

    async def get_news(self, context: ToolContext) -> JsonObject:
        """Get the newest headlines of the news."""
        language = context.language
        addresses = self._addresses(language)
        if not addresses:
            raise ToolError(UNAVAILABLE, message("news_none", language))
        found = await asyncio.gather(*map(self._kept, addresses), return_exceptions=True)
        feeds = [each for each in found if isinstance(each, Feed)]
        if not feeds:
            raise self._failure(found, language)
        mixed = chain.from_iterable(zip_longest(*(feed.headlines for feed in feeds)))
        headlines = [each for each in dict.fromkeys(mixed) if each][: self._settings.count]
        sources = [feed.title for feed in feeds if feed.title]
        joined = " ".join(_ended(each) for each in headlines)
        context.show("\n".join(headlines))
        return {
            "sources": sources,
            "headlines": headlines,
            "spoken": message("news_are", language, headlines=joined),
        }

    def _failure(self, found: Sequence[object], language: str) -> BaseException:
        first = next(each for each in found if isinstance(each, BaseException))
        if isinstance(first, ToolError):
            return self.service.unreachable(first, language)
        return first

    async def look(self) -> bool:
        """Read each feed of the settings; return whether there is one. Raises ToolError."""
        for address in chain.from_iterable(self._settings.feeds.values()):
            await self._kept(address)
        return bool(self._settings.feeds)

    async def close(self) -> None:
        """Close everything."""
        await self._feeds.close()
        await self.service.close()

    def _addresses(self, language: str) -> Sequence[str]:
        """Return the feeds in a language; in English where the list has none."""
        own = self._settings.feeds
        code = primary(language)
        if own:
            return own.get(language) or own.get(code) or own.get(ANY, ())
        return self._packaged.get(code) or self._packaged["en"]

    async def _kept(self, url: str) -> Feed:
        return await self._feeds.get(url, lambda: self._feed(url))

    async def _feed(self, url: str) -> Feed:
        answer = await self.service.get(url)
        feed = await asyncio.to_thread(read_feed, answer)
        if not feed.headlines:
            raise ToolError("failed", "there is no feed at this address")
        return feed


def read_feed(answer: RestAnswer) -> Feed:
    """Return the headlines of a feed as it came, broken ones as far as they go. Blocking."""
    import feedparser

    kind = answer.headers.get("content-type", "")
    try:
        parsed = feedparser.parse(io.BytesIO(answer.body), response_headers={"content-type": kind})
    except (ValueError, LookupError, RecursionError, AssertionError) as error:
        raise ToolError("failed", "the feed cannot be read") from error
    titles = (_plain(entry.get("title", "")) for entry in parsed.entries[:MAX_ENTRIES])
    return Feed(_plain(parsed.feed.get("title", "")), tuple(each for each in titles if each))


def _plain(text: object) -> str:
    words = " ".join(html.unescape(_TAG.sub("", str(text))).split())
    if len(words) > MAX_HEADLINE_CHARS:
        words = f"{words[: MAX_HEADLINE_CHARS - 1].rsplit(' ', 1)[0]}…"
    return well_formed(words)


def _ended(headline: str) -> str:
    if headline[-1] in ".!?。！？…":
        return headline
    return f"{headline}。" if headline[-1] >= _FIRST_WIDE else f"{headline}."
