"""Whose connection it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ConfigError
from vixio.transports.admission.addresses import Proxies, address_key, parse_address


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("10.1.2.3", "10.1.2.3"),
        (" 10.1.2.3:8080 ", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("[::ffff:10.1.2.3]:80", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2:ffff::1]:443", "2001:db8:1:2::/64"),
        ('"[2001:db8:1:2:ffff::1]"', "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_an_address_is_counted_by_itself_or_its_64(text: str, key: str) -> None:
    address = parse_address(text)
    assert address is not None
    assert address_key(address) == key


@given(st.text(max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    parse_address(text)
    peer = parse_address("127.0.0.1")
    Proxies(["127.0.0.1"]).client(peer, [text])


PROXIES = Proxies(["127.0.0.1", "::1", "10.0.0.0/8"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["203.0.113.9"], "192.0.2.1"),  # no proxy of ours: not believed
        ("127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("::1", ["2001:db8::5"], "2001:db8::5"),
        ("127.0.0.1", ["1.1.1.1, 203.0.113.9"], "203.0.113.9"),  # the client wrote the first
        ("127.0.0.1", ["1.1.1.1", "203.0.113.9, 10.2.3.4"], "203.0.113.9"),  # two of our proxies
        ("127.0.0.1", [], None),
        ("127.0.0.1", ["unknown"], None),
        ("127.0.0.1", ["10.1.1.1"], None),
        ("127.0.0.1", ["9.9.9.9," * 10_000 + "203.0.113.9"], "203.0.113.9"),
    ],
)
def test_a_proxy_is_believed_if_it_is_ours(
    peer: str, forwarded: list[str], client: str | None
) -> None:
    found = PROXIES.client(parse_address(peer), forwarded)
    assert (None if found is None else str(found)) == client


def test_what_is_no_network_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="trusted_proxies"):
        Proxies(["proxy.example"])
