"""News: feeds as servers give them, and the list by language."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

import vixio.tools.ready
from tests.vendors.ready import ready
from vixio.core.messages.catalogues import PACKAGED
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.ready.service import ATOM, HUGE, RSS, ReadyService

ENGLISH = (
    "The news: Bridge opens after three years. Rain & wind tonight. Museum finds lost painting."
)
BOMB = """<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "haha">
{}]><rss version="2.0"><channel><title>t</title><item><title>&z9;</title></item>
<item><title>Plain</title></item></channel></rss>"""


@pytest_asyncio.fixture
async def service() -> AsyncIterator[ReadyService]:
    async with ReadyService() as made:
        yield made


def news(service: ReadyService, *names: str, **options: object) -> dict[str, object]:
    """Return the entry of the news with these feeds of the stand-in, for any language."""
    feeds = {"*": [f"{service.http}/feeds/{name}" for name in names]}
    return {"news": {"feeds": feeds, **options}}


async def test_headlines_in_the_language_of_the_device(service: ReadyService) -> None:
    async with ready({"news": service.settings()["news"]}) as tools:
        assert await tools.said("get_news") == ENGLISH
        assert tools.shown[0].splitlines()[0] == "Bridge opens after three years"
        tools.language = "zh-CN"
        assert await tools.said("get_news") == "新闻：大桥三年后通车。 今晚有雨。"
        tools.language = "de"
        assert await tools.said("get_news") == "In dieser Sprache gibt es keine Nachrichtenquelle."
        await tools.said("get_news")
        assert service.requests == {"feed": 2}


async def test_several_feeds_in_turn_and_one_that_is_down(service: ReadyService) -> None:
    async with ready(news(service, "rss", "atom", count=3)) as tools:
        said = await tools.said("get_news")
        assert (
            said
            == "The news: Bridge opens after three years. 大桥三年后通车。 Rain & wind tonight."
        )
    service.fail(Trouble.CUT)
    async with ready(news(service, "rss", "atom")) as tools:
        assert "The news: " in await tools.said("get_news")
    service.fail(Trouble.BUSY, Trouble.BUSY)
    async with ready(news(service, "rss", "atom")) as tools:
        assert "the news service was asked too often" in await tools.said("get_news")


BODIES = {
    "gbk": (ATOM.replace("utf-8", "gbk").encode("gbk"), "application/xml", "大桥三年后通车"),
    "header": (ATOM.encode(), "application/atom+xml; charset=iso-8859-1", "大桥三年后通车"),
    "utf-16": (RSS.replace("UTF-8", "utf-16").encode("utf-16"), "", "Bridge opens"),
    "cut": (RSS.encode()[:420], "application/rss+xml", "Bridge opens"),
    "open": (RSS.replace("</item>", "").encode(), "text/html", "Bridge opens"),
    "ampersand": (RSS.replace("&amp;", "&").encode(), "text/xml", "Rain & wind"),
    "bomb": (
        BOMB.format(
            "".join(f'<!ENTITY z{n} "{("&z" + str(n - 1) + ";") * 10}">' for n in range(1, 10))
        ).encode(),
        "text/xml",
        "Plain",
    ),
    "long": (RSS.replace("Bridge", "Bridge " * 100).encode(), "text/xml", "Bridge…"),
}


@pytest.mark.parametrize("name", BODIES)
async def test_feeds_that_are_not_well_made(service: ReadyService, name: str) -> None:
    body, kind, said = BODIES[name]
    service.feeds[name] = body, kind
    async with ready(news(service, name)) as tools:
        told = await tools.said("get_news")
        assert said in told
        assert len(told) < 1_000


@pytest.mark.parametrize("body", [b"", b"<html><body>Welcome</body></html>", b"\xff\xfe\x00{}"])
async def test_what_is_no_feed_is_said(service: ReadyService, body: bytes) -> None:
    service.feeds["none"] = body, "text/html"
    async with ready(news(service, "none")) as tools:
        assert await tools.said("get_news") == "Sorry, the news service sends no usable answer."


async def test_a_feed_that_is_too_long_or_slow(service: ReadyService) -> None:
    async with ready(news(service, "rss", timeout=0.3)) as tools:
        service.fail(HUGE, Trouble.STALL)
        assert "no usable answer" in await tools.said("get_news")
        assert "in time" in await tools.said("get_news")


def test_there_is_a_feed_for_each_language_of_the_messages() -> None:
    feeds = yaml.safe_load(
        Path(vixio.tools.ready.__file__).with_name("feeds.yaml").read_text("utf-8")
    )
    assert set(feeds) == {path.stem for path in PACKAGED.glob("*.po")}
    assert all(url.startswith("https://") for urls in feeds.values() for url in urls)
