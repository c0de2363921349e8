"""When a proxy of the environment applies, and that each client of the server keeps to that."""

from __future__ import annotations

import os

import pytest

from tests.support.funasr_server import FunASRServer
from tests.support.hub import hub_server
from tests.support.servers import free_port
from tests.support.speech_server import SpeechServer
from tests.unit.providers.funasr_server.support import noise, recognise
from tests.unit.providers.funasr_server.support import provider as recogniser
from tests.unit.tools.mcp.servers import source_of, stdio
from tests.unit.tools.mcp.test_http_failures import HTTP, refusing
from vixio.core.environment_proxy import except_loopback, is_loopback, proxy_for
from vixio.core.errors import ConfigError, ProviderError
from vixio.providers.downloads.errors import Trouble
from vixio.providers.downloads.web import Patience, Web
from vixio.providers.edge_tts.settings import EdgeTTSSettings
from vixio.providers.openai_client import OpenAIConnection, SharedClient
from vixio.tools.mcp.config import Transport

PRIVATE = "10.20.30.40"
ELSEWHERE = (PRIVATE, "models.lan", "models.example.org", "[fd00::1]")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tuple(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> str:
    """A proxy where nothing listens, with a password. Return how messages name it."""
    port = free_port()
    monkeypatch.setenv("HTTP_PROXY", f"http://me:hunter2@127.0.0.1:{port}")
    return f"through the proxy 127.0.0.1:{port} of HTTP_PROXY"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("vixio.localhost", True),
        ("localhost.localdomain", True),
        ("ip6-loopback", True),
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("127.1", True),
        ("0x7f000001", True),
        ("0.0.0.0", True),  # noqa: S104 - a connection to it reaches this machine
        ("::1", True),
        ("[::1]", True),
        ("::", True),
        ("::ffff:127.0.0.1", True),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("127.example.org", False),
        ("localhost.example.org", False),
        ("notlocalhost", False),
        ("models", False),
        ("", False),
    ],
)
def test_this_machine(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    ("url", "variables", "named"),
    [
        ("http://a.test", {"HTTP_PROXY": "http://p:1"}, "the proxy p:1 of HTTP_PROXY"),
        ("http://a.test", {"http_proxy": "p:1"}, "the proxy p:1 of http_proxy"),
        ("http://a.test", {"HTTP_PROXY": "http://u:p@ss@p:1/"}, "the proxy p:1 of HTTP_PROXY"),
        ("https://a.test", {"HTTPS_PROXY": "http://p:1"}, "the proxy p:1 of HTTPS_PROXY"),
        ("https://a.test", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://a.test", {"ALL_PROXY": "socks5://p:1"}, None),
        ("http://a.test", {"HTTP_PROXY": ""}, None),
        ("ws://a.test", {"HTTP_PROXY": "http://p:1"}, "the proxy p:1 of HTTP_PROXY"),
        ("wss://a.test", {"HTTP_PROXY": "http://p:1"}, None),
        ("wss://a.test", {"HTTPS_PROXY": "http://p:1"}, "the proxy p:1 of HTTPS_PROXY"),
        ("ws://a.test", {"SOCKS_PROXY": "http://p:1"}, "the proxy p:1 of SOCKS_PROXY"),
        ("http://a.test", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "a.test"}, None),
        ("http://b.a.test", {"HTTP_PROXY": "http://p:1", "NO_PROXY": ".a.test"}, None),
        ("http://a.test:81", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "a.test:81"}, None),
        ("http://10.1.2.3", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "x, 10.0.0.0/8"}, None),
        ("http://[fd00::1]", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "fd00::/8"}, None),
        ("http://a.test", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("http://localhost:81", {"HTTP_PROXY": "http://p:1"}, None),
        ("ws://127.0.0.1:81", {"HTTP_PROXY": "http://p:1"}, None),
    ],
)
def test_which_proxy(
    url: str, variables: dict[str, str], named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = proxy_for(url)
    assert (str(found) if found is not None else None) == named


def test_all_proxy_counts_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://p:1")
    found = proxy_for("http://a.test", every_scheme=True)
    assert str(found) == "the proxy p:1 of ALL_PROXY"
    assert proxy_for("http://localhost", every_scheme=True) is None


def test_one_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "socks5://p:1")
    found = proxy_for("http://a.test")
    assert found is not None
    with pytest.raises(
        ConfigError, match="the proxy p:1 of HTTP_PROXY is socks5, supported: http, https"
    ):
        found.check("http", "https")


@pytest.mark.parametrize("url", ["http://me:hunter/2@p:1", "http://p:x", "http://", "http://p:0"])
def test_what_is_no_address_is_refused_without_the_password(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", url)
    found = proxy_for("http://a.test")
    assert found is not None
    with pytest.raises(ConfigError, match="is no address such as http://host:3128") as caught:
        found.check("http", "https")
    assert "hunter" not in str(caught.value)


def test_libraries_that_read_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "a.test, localhost")
    monkeypatch.setenv("no_proxy", "")
    except_loopback()
    except_loopback()
    assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == "a.test,localhost,127.0.0.1,::1"


def test_edge_uses_the_one_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert EdgeTTSSettings().used_proxy is None
    monkeypatch.setenv("HTTPS_PROXY", "http://p:1")
    assert EdgeTTSSettings().used_proxy == "http://p:1"
    assert EdgeTTSSettings(proxy="http://own:2").used_proxy == "http://own:2"


# ── each client: a dead proxy does not keep it from this machine, and is named ───────────────────


async def _model(base_url: str) -> bytes:
    settings = OpenAIConnection(base_url=base_url)
    client = SharedClient("openai", "agent", settings, timeout=30.0)
    await client.start()
    try:
        body = {"input": "hello", "response_format": "pcm"}
        return await (await client.run(client.post_json("audio/speech", body))).read()
    finally:
        await client.close()


async def test_a_model_server_on_this_machine(dead: str) -> None:
    async with SpeechServer() as server:
        assert await _model(server.base_url)
        assert await _model(server.base_url.replace("127.0.0.1", "localhost"))


@pytest.mark.parametrize("host", ELSEWHERE)
async def test_a_model_server_elsewhere(dead: str, host: str) -> None:
    with pytest.raises(ProviderError) as caught:
        await _model(f"http://{host}:4780/v1")
    assert str(caught.value) == (
        f"openai: the language model's server at {host}:4780 {dead} cannot be reached: "
        "Connection refused; if the host needs no proxy, add it to NO_PROXY"
    )


@pytest.mark.parametrize("status", ["502 Bad Gateway", "403 Forbidden", "404 Not Found"])
async def test_a_proxy_that_answers_itself(status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with refusing(status) as port:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
        with pytest.raises(ProviderError, match=f"proxy 127.0.0.1:{port} .*NO_PROXY"):
            await _model(f"http://{PRIVATE}/v1")


async def test_speech_recognition(dead: str) -> None:
    async with FunASRServer() as server, recogniser(server) as asr:
        await recognise(asr, noise(0.1))
        assert server.utterances
    async with FunASRServer() as server, recogniser(server, url=f"ws://{PRIVATE}:1") as asr:
        with pytest.raises(ProviderError) as caught:
            await recognise(asr, noise(0.1))
    assert f"at {PRIVATE}:1 {dead} cannot be reached: Connection refused" in str(caught.value)
    assert "hunter" not in str(caught.value)


@pytest.mark.parametrize("transport", HTTP)
async def test_mcp_servers(dead: str, transport: Transport) -> None:
    async def reason(url: str) -> str:
        config = stdio(transport=transport, command="", args=(), url=url)
        async with source_of(config) as source:
            return source.faults[0].reason

    async with refusing("418 Teapot") as port:
        assert await reason(f"http://127.0.0.1:{port}/mcp") == (
            f"127.0.0.1:{port} answered HTTP 418 Teapot"
        )
    assert await reason(f"http://{PRIVATE}:1/mcp") == (
        f"nothing answers at {PRIVATE}:1 {dead} (if the host needs no proxy, add it to NO_PROXY)"
    )


async def test_downloads(dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://x")
    async with hub_server() as hub, Web(Patience(tries=1)) as web:
        hub.put_json("/file", {"a": 1})
        assert (await web.json(f"{hub.base}/file"))[0] == {"a": 1}
        with pytest.raises(Trouble, match=dead):
            await web.json(f"http://{PRIVATE}/file")
