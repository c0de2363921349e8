"""The console's files: under their version, with headers that keep the pages to themselves."""

from __future__ import annotations

import asyncio
import gzip
import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from vixio.core.metrics import Counters
from vixio.transports.admission.hosts import HostPolicy
from vixio.web.console.assets import TYPES, read_assets
from vixio.web.console.site import POLICY, ConsoleSite

NAMED = (
    "http://www.w3.org/",
    "http://localhost${port}",
    "http://192.168.",
    "https://example.org/",
)
"""URLs in the files of which nothing is fetched: namespaces, a way to the microphone, devices and
models at home, examples."""


@pytest.fixture
def counters() -> Counters:
    return Counters()


@pytest.fixture
def client(counters: Counters) -> TestClient:
    site = ConsoleSite(HostPolicy(["voice.example"]), counters)
    return TestClient(
        Starlette(routes=list(site.routes())), base_url="http://127.0.0.1", follow_redirects=False
    )


def test_every_file_that_the_index_names_is_there(client: TestClient) -> None:
    index = client.get("/console/").text
    names = re.findall(r'(?:href|src)="([^"]+)"', index)
    assert any(name.endswith("app.js") for name in names)
    assert any(name.endswith("tokens.css") for name in names)
    assert "VERSION" not in index
    for name in names:
        answer = client.get(f"/console/{name}")
        assert answer.status_code == 200, name
        assert answer.headers["content-type"] == TYPES[name.rpartition(".")[2]]
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-security-policy"] == POLICY


def test_every_module_imports_what_is_there() -> None:
    files = read_assets().files
    for path, asset in files.items():
        if not path.endswith(".js"):
            continue
        text = re.sub(r"/\*\*.*?\*/", "", asset.content.decode(), flags=re.S)  # types, in comments
        for name in re.findall(r'(?:from|import|import\()\s*"(\.[^"]+)"', text):
            folder = path.rpartition("/")[0]
            parts: list[str] = folder.split("/") if folder else []
            for part in name.split("/"):
                if part == "..":
                    parts.pop()
                elif part != ".":
                    parts.append(part)
            assert "/".join(parts) in files, f"{path} imports {name}"


def test_nothing_comes_from_elsewhere() -> None:
    for path, asset in read_assets().files.items():
        found = re.findall(r"https?://[\w$[][^\s\"'`)]*", asset.content.decode())
        elsewhere = [url for url in found if not url.startswith(NAMED)]
        assert not elsewhere, path
        if path.endswith(".js"):
            assert "innerHTML" not in asset.content.decode(), path


def test_the_index_is_asked_for_again_and_compressed(client: TestClient) -> None:
    first = client.get("/console/", headers={"accept-encoding": "identity"})
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/console/", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/console/", headers={"accept-encoding": "gzip"}).text == first.text
    index = read_assets().index
    assert gzip.decompress(index.compressed) == index.content


def test_a_page_of_an_older_version_is_told(client: TestClient) -> None:
    answer = client.get("/console/0123456789ab/app.js")
    assert answer.status_code == 404
    assert "Reload the page" in answer.text
    version = read_assets().version
    for path in ("nothing.js", "../site.py", "%2e%2e/site.py", "lib/../../site.py"):
        assert client.get(f"/console/{version}/{path}").status_code != 200
    assert client.get("/console").headers["location"] == "console/"


def test_a_name_that_is_none_of_the_servers_gets_nothing(
    client: TestClient, counters: Counters
) -> None:
    version = read_assets().version
    for path in ("/console", "/console/", f"/console/{version}/app.js"):
        answer = client.get(path, headers={"host": "evil.example"})
        assert answer.status_code == 403
        assert "api.hosts" in answer.text
    assert counters.snapshot()["console.refused.host"] == 3
    assert client.get("/console/", headers={"host": "voice.example:8003"}).status_code == 200


async def test_it_can_be_closed_while_files_are_read() -> None:
    site = ConsoleSite(HostPolicy(), Counters())
    site.begin()
    await site.close()
    reading = asyncio.create_task(site._assets())
    await asyncio.sleep(0)
    await site.close()
    assert reading.done() or (await reading).version


def test_both_languages_have_the_same_words() -> None:
    for path, asset in read_assets().files.items():
        text = asset.content.decode()
        if not path.endswith(".js") or "addWords({" not in text:
            continue
        words = text[text.index("addWords({") :].partition("\n});")[0]
        english, _, chinese = words.partition("\n  zh: {")
        keys = [
            set(re.findall(r'(?:^ {4}|", )"?([\w.-]+)"?: "', part, re.M))
            for part in (english, chinese)
        ]
        one = {key for key in keys[0] if key.endswith(".one")}
        assert keys[0] - one == keys[1] - one, path
