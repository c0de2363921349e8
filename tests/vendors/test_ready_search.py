"""Web search by SearXNG and Tavily, against their stand-in; and what the settings refuse."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from pydantic import ValidationError

from tests.vendors.ready import ready
from vixio.core.errors import ConfigError
from vixio.tools.ready.settings import ReadySettings
from vixio.tools.ready.source import ReadySource
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.ready.service import KEY, ODD, ReadyService

FOUND = [
    {"title": "Cats", "content": "Cats are  small\ncarnivores.", "url": "https://cats.example/"},
    {"title": "Long", "content": "word " * 500, "url": "https://long.example/"},
]
SERVICES = ["searxng", "tavily"]


@pytest_asyncio.fixture
async def service() -> AsyncIterator[ReadyService]:
    async with ReadyService() as made:
        made.found = FOUND
        yield made
        assert not made.account.violations


def search(service: ReadyService, kind: str, **options: object) -> dict[str, object]:
    """Return the entry of the search at the stand-in."""
    given = {"service": kind, "base_url": service.http, "api_key": KEY}
    return {"search": {**given, **options}}


@pytest.mark.parametrize("kind", SERVICES)
async def test_results_and_an_answer(service: ReadyService, kind: str) -> None:
    async with ready(search(service, kind)) as tools:
        assert await tools.said("search_web", query="cats") == "Cats are small carnivores."
        assert tools.shown == ["Cats\nLong"]
        told = json.loads((await tools.call("search_web", query=" cats ")).result or "")
        assert told["results"][0]["url"] == "https://cats.example/"
        assert len(told["results"][1]["text"]) <= 400
        assert service.requests == {"search": 1}
        service.answer = "A cat is an animal."
        assert await tools.said("search_web", query="what is a cat") == "A cat is an animal."
    async with ready(search(service, kind, results=1)) as tools:
        told = json.loads((await tools.call("search_web", query="cats")).result or "")
        assert len(told["results"]) == 1


@pytest.mark.parametrize("kind", SERVICES)
async def test_what_goes_wrong_is_said(service: ReadyService, kind: str) -> None:
    async with ready(search(service, kind, timeout=0.3)) as tools:
        service.fail(Trouble.STALL, "forbidden", Trouble.BUSY, Trouble.GARBAGE, ODD)
        for words in ("in time", "refuses", "too often", "no usable", "no usable"):
            assert words in await tools.said("search_web", query="cats")
        service.found = []
        assert await tools.said("search_web", query="dogs") == "Sorry, nothing was found."
        assert (await tools.call("search_web", query=" ")).error_type == "invalid_arguments"


async def test_a_wrong_key_is_said_and_not_shown(service: ReadyService) -> None:
    async with ready(search(service, "tavily", api_key="tvly-of-another")) as tools:
        result = await tools.call("search_web", query="cats")
        assert "refuses the access" in (result.error or "")
        assert "of-another" not in result.for_model()


def test_a_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    settings = ReadySettings.model_validate(["search"])
    with pytest.raises(ConfigError, match="TAVILY_API_KEY"):
        ReadySource(settings)
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    assert [tool.name for tool in ReadySource(settings).tools()] == ["search_web"]


MISTAKES = [
    (["wether"], "Extra inputs"),
    (["news", "news"], "twice"),
    ([{"weather": {}, "news": {}}], "its name and these"),
    ([{"weather": {"plase": "x"}}], "weather.plase"),
    (["calendar"], "calendar.addresses"),
    ([{"calendar": {"addresses": ["/etc/passwd"]}}], "iCal"),
    ([{"search": {"service": "searxng"}}], "SearXNG is a service of your own"),
    ([{"news": {"feeds": {"en": ["news.example"]}}}], "address of a feed"),
    ([{"weather": {"forecast_url": "https://user@host/"}}], "such as https"),
]


@pytest.mark.parametrize(("given", "words"), MISTAKES)
def test_mistakes_in_the_settings(given: list[object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        ReadySettings.model_validate(given)


def test_nothing_is_on_by_default() -> None:
    assert not ReadySettings()
    assert not ReadySettings.model_validate([])
    assert ReadySettings.model_validate(["dates"])
    assert ReadySettings.model_validate({"news": {}}).news
