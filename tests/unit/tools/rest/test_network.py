"""Which addresses a REST tool may reach."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from vixio.core.errors import ToolError
from vixio.tools.rest.network import addresses_of, is_public


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808"]
)
def test_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("0.0.0.0", "224.0.0.1", "240.0.0.1", "192.0.2.1"),  # noqa: S104 - none is bound to
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fd00::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
        *("2002:7f00:1::1", "2002:c0a8:101::1", "nonsense", ""),
    ],
)
def test_not_public(address: str) -> None:
    assert not is_public(address)


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    async def found(self: object, host: str, port: int, **options: Any) -> list[Any]:  # noqa: ANN401
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", found)


async def test_a_name_with_one_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolving(monkeypatch, "8.8.8.8", "127.0.0.1")
    with pytest.raises(ToolError) as caught:
        await addresses_of("example.org", 80, allow_private=False)
    assert (caught.value.type, caught.value.retryable) == ("denied", False)
    assert await addresses_of("example.org", 80, allow_private=True) == ["8.8.8.8", "127.0.0.1"]


async def test_a_name_without_an_address() -> None:
    with pytest.raises(ToolError) as caught:
        await addresses_of("no-such-name.invalid", 80, allow_private=False)
    assert (caught.value.type, caught.value.retryable) == ("disconnected", True)
