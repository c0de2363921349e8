"""The console's help: pages of docs/ as HTML, their sections and links, and what leads to them."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.testclient import TestClient

from vixio.core.metrics import Counters
from vixio.transports.admission.hosts import HostPolicy
from vixio.web.console import help as console_help
from vixio.web.console import site as console_site
from vixio.web.console.assets import HELP, read_assets
from vixio.web.console.help import read_pages, render
from vixio.web.console.site import POLICY, ConsoleSite

PAGES = sorted(read_pages())


class Found(HTMLParser):
    """The ids and links of a page, and what the policy of the console would forbid in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()
        self.forbidden: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        have = dict(attrs)
        self.tags[tag] += 1
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag in {"a", "link"} and (href := have.get("href")):
            self.links.append(href)
        if tag == "script" and (source := have.get("src")):
            self.links.append(source)
        if "style" in have or tag in {"style", "img"} or (tag == "script" and "src" not in have):
            self.forbidden.append(self.get_starttag_text() or tag)


@pytest.fixture(scope="module")
def client() -> TestClient:
    site = ConsoleSite(HostPolicy(), Counters())
    return TestClient(Starlette(routes=list(site.routes())), base_url="http://127.0.0.1")


@cache
def page(name: str) -> Found:
    """Return what is in a page as it is served."""
    return Found(render(name, read_assets().files[HELP].content.decode(), "1"))


def shown(monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    """Return a page of this Markdown, beside a page `other`."""
    pages = {"page": text.encode(), "other": b"# Another & one\n"}
    monkeypatch.setattr(console_help, "read_pages", lambda: pages)
    return render("page", "<title>$title</title>$text<footer>$pages</footer>", "1")


def test_headings_have_the_ids_of_github_and_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(
        monkeypatch, "# One\n\n## `two.three`: four, FIVE\n\n### a_b-c\n\n## Six\n\n## Six\n"
    )
    found = Found(text)
    assert found.ids == ["one", "twothree-four-five", "a_b-c", "six", "six-1"]
    assert found.links == ["#twothree-four-five", "#six", "#six-1", "page", "other"]
    assert "<title>One</title>" in text
    assert '<a href="other">Another &amp; one</a>' in text
    assert text.index("</h1>") < text.index("<nav") < text.index("<h2")


def test_links_lead_to_pages_or_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(
        monkeypatch,
        "# One\n\n[a](other.md) [b](other.md#c) [d](#one) [e](https://a.example/x#y)\n"
        "[`f`](../examples/g.py) [h](engineering/other.md) [i](other) [j](gone.md#k) "
        "[l](javascript:m)\n\n![n](console/o.webp)\n",
    )
    assert Found(text).links == [
        "other",
        "other#c",
        "#one",
        "https://a.example/x#y",
        "page",
        "other",
    ]
    assert "<code>f</code> h i j " in text
    assert "o.webp" not in text


def test_nothing_of_a_page_is_html_or_style(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(
        monkeypatch,
        "# <b>One</b>\n\n<script>alert(1)</script>\n\n<img src=x onerror=y> <i>z</i>\n\n"
        "|a|b|\n|--:|---|\n|`c \\| d`|<br>|\n\n```sh\n<table>\n```\n",
    )
    found = Found(text)
    assert found.forbidden == []
    assert not found.tags.keys() & {"b", "script", "i", "br"}
    assert found.tags["table"] == 1
    assert "<code>c | d</code>" in text
    assert text.count('tabindex="0"') == 2
    assert "<title>&lt;b&gt;One&lt;/b&gt;</title>" in text


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole(name: str) -> None:
    found = page(name)
    assert found.forbidden == []
    assert len(found.ids) == len(set(found.ids))
    assert found.tags["h1"] == 1
    assert set(PAGES) <= set(found.links)
    for link in found.links:
        target, _, anchor = link.partition("#")
        if link.startswith("../1/"):
            assert link.removeprefix("../1/") in read_assets().files
        elif link != "../" and "://" not in link:
            assert target in {"", *PAGES}, link
            assert not anchor or anchor in page(target or name).ids, link


def test_each_page_of_the_console_has_help_that_is_there() -> None:
    text = read_assets().files["routes.js"].content.decode()
    table = text.partition("const HELP = {")[2].partition("};")[0]
    found = dict(re.findall(r'^  "?([\w/]+)"?: "([^"]+)",$', table, re.MULTILINE))
    assert len(found) == len(table.splitlines()) - 1
    assert set(re.findall(r'\{ name: "(\w+)"', text)) == {each.partition("/")[0] for each in found}
    assert {each for each in found if "/" in each and each.partition("/")[0] not in found} == set()
    for address, section in found.items():
        name, _, anchor = section.partition("#")
        assert name in PAGES, address
        assert anchor in page(name).ids, address


def test_it_is_served_like_the_index(client: TestClient) -> None:
    answer = client.get("/console/help/speech")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["cache-control"] == "no-cache"
    again = client.get("/console/help/speech", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for source in (each for each in Found(answer.text).links if each.startswith("../")):
        assert client.get(f"/console/help/{source}").status_code == 200, source


def test_what_is_no_page_is_not_there(client: TestClient) -> None:
    missing = client.get("/console/0123456789ab/app.js")
    for name in ("gone", "speech.md", "engineering", "..%2fREADME", "%2e%2e%2fpyproject", ""):
        answer = client.get(f"/console/help/{name}")
        assert (answer.status_code, answer.text) == (404, missing.text), name
    evil = client.get("/console/help/speech", headers={"host": "evil.example"})
    assert evil.status_code == 403


async def test_a_page_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[str] = []

    def counted(name: str, template: str, version: str) -> str:
        rendered.append(name)
        return render(name, template, version)

    monkeypatch.setattr(console_site, "render", counted)
    site = ConsoleSite(HostPolicy(), Counters())
    scope = {
        "type": "http",
        "headers": [(b"host", b"127.0.0.1")],
        "path_params": {"version": "help", "path": "a2a"},
    }
    answers = await asyncio.gather(*(site._file(Request(scope)) for _ in range(3)))
    assert [answer.status_code for answer in answers] == [200] * 3
    assert rendered == ["a2a"]
    await site.close()
