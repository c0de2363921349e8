"""A FunASR server behind TLS, with a self-signed certificate like that of its images."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.certificates import self_made
from tests.support.funasr_server import FunASRServer
from tests.unit.providers.funasr_server.support import noise, provider, recognise
from vixio.core.errors import ProviderError, ProviderUnavailable


async def test_any_certificate_where_that_is_wanted(tmp_path: Path) -> None:
    context, _ = self_made(tmp_path)
    async with FunASRServer(tls=context) as server, provider(server, verify_tls=False) as asr:
        assert (await recognise(asr, noise(1))).text == "loud 10"
        assert server.url.startswith("wss://")


async def test_a_certificate_of_ones_own(tmp_path: Path) -> None:
    context, certificate = self_made(tmp_path)
    async with FunASRServer(tls=context) as server, provider(server, ca_file=certificate) as asr:
        assert (await recognise(asr, noise(1))).text == "loud 10"


async def test_an_untrusted_certificate(tmp_path: Path) -> None:
    context, _ = self_made(tmp_path)
    async with FunASRServer(tls=context) as server, provider(server) as asr:
        with pytest.raises(ProviderUnavailable, match="set ca_file to it, or verify_tls: false"):
            await recognise(asr, noise(1))


async def test_a_certificate_for_another_host(tmp_path: Path) -> None:
    context, certificate = self_made(tmp_path, "127.0.0.2")
    async with FunASRServer(tls=context) as server, provider(server, ca_file=certificate) as asr:
        with pytest.raises(ProviderUnavailable, match="not trusted"):
            await recognise(asr, noise(1))


@pytest.mark.parametrize("tls", [True, False])
async def test_the_wrong_scheme(tmp_path: Path, tls: bool) -> None:
    context = self_made(tmp_path)[0] if tls else None
    async with FunASRServer(tls=context) as server:
        url = server.url.replace("wss:", "ws:") if tls else server.url.replace("ws:", "wss:")
        async with provider(server, url=url) as asr:
            with pytest.raises(ProviderError, match="wss:// instead of ws://") as caught:
                await recognise(asr, noise(1))
            assert caught.value.reason == "unreachable"
