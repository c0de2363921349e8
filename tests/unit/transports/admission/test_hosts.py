"""Names under which a server may be called."""

from __future__ import annotations

import socket

import pytest

from vixio.transports.admission.hosts import HostPolicy


@pytest.mark.parametrize(
    "host",
    [
        "192.168.1.9:8003",
        "192.168.1.9",
        "[fe80::1]:8003",
        "localhost:8003",
        "LOCALHOST",
        "voice.example.org",
        "Voice.Example.org.:443",
        socket.gethostname(),
        f"{socket.gethostname().partition('.')[0]}.local:8003",
    ],
)
def test_addresses_and_own_names_are_allowed(host: str) -> None:
    assert HostPolicy(["voice.example.org", ""]).allows(host)


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8003", "localhost.evil.example", "192.168.1.9.evil.example",
     "a b", "localhost:port", "[localhost]", "127.0.0.1@evil.example", "example.org"],
)  # fmt: skip
def test_other_names_are_not(host: str) -> None:
    assert not HostPolicy(["voice.example.org"]).allows(host)
