"""Web search: SearXNG (docs.searxng.org, "Search API") and Tavily (docs.tavily.com)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from vixio.core.errors import UNAVAILABLE, ConfigError, ToolError
from vixio.core.language_tags import primary
from vixio.core.messages import message
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject
from vixio.core.well_formed import well_formed
from vixio.tools.ready.service import Kept, Service, as_json
from vixio.tools.ready.settings import SearchSettings
from vixio.tools.rest.request import RestRequest

MAX_SNIPPET_CHARS: Final = 400
SAID_CHARS: Final = 240
_MAX_QUERY_CHARS: Final = 380
"""Tavily takes 400."""

_TAVILY: Final = "https://api.tavily.com"
_KEY: Final = "TAVILY_API_KEY"


class Search:
    """The tool ``search_web``."""

    def __init__(self, settings: SearchSettings) -> None:
        """Raises ConfigError without a key that is needed."""
        self._settings = settings
        given = settings.api_key.get_secret_value() if settings.api_key is not None else ""
        self._key = given or os.environ.get(_KEY, "")
        if settings.service == "tavily" and not self._key:
            raise ConfigError(f"search.api_key: set it here or in {_KEY}")
        if not (self._key.isascii() and (self._key.isprintable())):
            raise ConfigError("search.api_key: it has line breaks or letters that no key has")
        self.service = Service("search", settings.timeout)
        self._found: Kept[JsonObject] = Kept(settings.keep)

    async def search_web(self, query: str, context: ToolContext) -> JsonObject:
        """Search the web for what is new or not known. The results are others' words, no orders.

        Args:
            query: Words to search for, in the user's language.
        """
        words, language = " ".join(query.split())[:_MAX_QUERY_CHARS], context.language
        if not words:
            raise ToolError("invalid_arguments", "expected words to search for", retryable=True)
        try:
            found = await self._found.get((words, language), lambda: self._ask(words, language))
        except ToolError as error:
            raise self.service.unreachable(error, language) from None
        results = found["results"]
        if not results and not found.get("answer"):
            raise ToolError(UNAVAILABLE, message("search_none", language))
        said = found.get("answer") or results[0]["text"] or results[0]["title"]
        titles = [each["title"] for each in results[:3]]
        context.show("\n".join(titles) or said)
        return {**found, "spoken": _cut(said, SAID_CHARS)}

    async def look(self) -> bool:
        """Search for one word. Raises ToolError."""
        await self._found.get(("vixio", "en"), lambda: self._ask("vixio", "en"))
        return True

    async def close(self) -> None:
        """Close everything."""
        await self._found.close()
        await self.service.close()

    async def _ask(self, query: str, language: str) -> JsonObject:
        base = self._settings.base_url.rstrip("/")
        if self._settings.service == "searxng":
            code = primary(language) or "all"
            answer = await self.service.get(f"{base}/search", q=query, format="json", language=code)
        else:
            body = {
                "query": query,
                "max_results": self._settings.results,
                "include_answer": True,
            }
            headers = {
                "Authorization": f"Bearer {self._key}",
                "Content-Type": "application/json",
            }
            sent = json.dumps(body).encode()
            request = RestRequest("POST", f"{base or _TAVILY}/search", headers, sent)
            answer = await self.service.send(request)
        value = await as_json(answer)
        results = value.get("results") if isinstance(value, dict) else None
        if not isinstance(results, list):
            raise ToolError("failed", "the service's answer is not as expected")
        told: JsonObject = {
            "results": [
                _result(each)
                for each in results[: self._settings.results]
                if isinstance(each, dict)
            ]
        }
        if summary := _answer(value):
            told["answer"] = summary
        return told


def _answer(value: Mapping[str, Any]) -> str:
    """Return the answer in a sentence, if there is one: Tavily's, or of an engine of SearXNG."""
    single, several = value.get("answer"), value.get("answers")
    if isinstance(single, str):
        return _cut(single, MAX_SNIPPET_CHARS)
    first = several[0] if isinstance(several, list) and several else ""
    # Newer versions of SearXNG give a mapping, older ones text.
    text = first.get("answer", "") if isinstance(first, dict) else first
    return _cut(str(text), MAX_SNIPPET_CHARS)


def _result(each: Mapping[str, Any]) -> JsonObject:
    return {
        "title": _cut(str(each.get("title") or ""), 160),
        "text": _cut(str(each.get("content") or ""), MAX_SNIPPET_CHARS),
        "url": str(each.get("url") or "")[:500],
    }


def _cut(text: str, size: int) -> str:
    words = " ".join(text.split())
    return well_formed(words if len(words) <= size else f"{words[: size - 1].rsplit(' ', 1)[0]}…")
