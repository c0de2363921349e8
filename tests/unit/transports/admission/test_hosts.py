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
        "vixio",
        "vixio:8003",
        "voice_1:8003",
        "vixio.default.svc",
        "vixio.default.svc.cluster.local:8003",
        "nas.lan",
        "nas.local",
        "nas.home.arpa",
        "ip-10-0-0-1.ec2.internal",
        "host.docker.internal:8003",
        "voice.localhost",
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
     "a b", "evil.lan.example", "evil.svc.example.org", ".local", "a..local", "notlocal.example",
     "evil.internal.com", "evil.arpa", "localhost:port", "[localhost]", "127.0.0.1@evil.example",
     "example.org"],
)  # fmt: skip
def test_other_names_are_not(host: str) -> None:
    assert not HostPolicy(["voice.example.org"]).allows(host)
