"""What a trusted proxy states: the address that the device used, and the client."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.transports.admission.addresses import Proxies, parse_address
from vixio.transports.admission.forwarded import stated_address, stated_clients
from vixio.web.http.public_url import HttpAddress, public_url

TLS = {"x-forwarded-host": "v.org", "x-forwarded-proto": "https"}


@pytest.mark.parametrize(
    ("headers", "url"),
    [
        (TLS, "wss://v.org/x"),
        ({**TLS, "x-forwarded-port": "8443"}, "wss://v.org:8443/x"),
        ({**TLS, "x-forwarded-port": "443"}, "wss://v.org/x"),
        ({**TLS, "x-forwarded-port": "80"}, "wss://v.org/x"),  # of a balancer behind the TLS
        ({**TLS, "x-forwarded-port": "8443, 8080"}, "wss://v.org:8443/x"),
        ({**TLS, "x-forwarded-port": "99999"}, "wss://v.org/x"),
        ({**TLS, "x-forwarded-port": "8443/evil"}, "wss://v.org/x"),
        (
            {**TLS, "x-forwarded-host": "v.org:8443", "x-forwarded-port": "443"},
            "wss://v.org:8443/x",
        ),
        ({**TLS, "x-forwarded-prefix": "/a"}, "wss://v.org/a/x"),
        ({**TLS, "x-forwarded-prefix": "/a/b/"}, "wss://v.org/a/b/x"),
        ({**TLS, "x-forwarded-prefix": "/a, /b"}, "wss://v.org/a/b/x"),
        ({**TLS, "x-forwarded-prefix": "/"}, "wss://v.org/x"),
        ({**TLS, "x-forwarded-prefix": "a"}, "wss://v.org/x"),
        ({**TLS, "x-forwarded-prefix": "//evil.org"}, "wss://v.org/x"),
        ({**TLS, "x-forwarded-prefix": "/../a"}, "wss://v.org/x"),
        ({**TLS, "x-forwarded-prefix": '/a"?b'}, "wss://v.org/x"),
        ({"x-forwarded-prefix": "/a"}, "ws://h:8003/a/x"),
        ({"x-forwarded-port": "443"}, "wss://h:8003/x"),
        ({"x-forwarded-proto": "wss"}, "wss://h:8003/x"),
        ({"forwarded": "for=1.2.3.4;proto=https;host=v.org"}, "wss://v.org/x"),
        ({"forwarded": 'Host="v.org:8443";Proto=HTTPS'}, "wss://v.org:8443/x"),
        ({"forwarded": "proto=https"}, "wss://h:8003/x"),
        ({"forwarded": 'host="[2001:db8::1]:8443"; proto=https'}, "wss://[2001:db8::1]:8443/x"),
        ({"forwarded": "host=v.org;proto=https, host=inner;proto=http"}, "wss://v.org/x"),
        ({"forwarded": 'host="v\\.org"'}, "ws://v.org/x"),
        ({"forwarded": 'for="a,b;host=evil";host=v.org'}, "ws://v.org/x"),
        ({"forwarded": 'host="v.org/evil"'}, "ws://h:8000/x"),
        ({"forwarded": 'host="v.org'}, "ws://h:8000/x"),
        ({"forwarded": "for=1.2.3.4"}, "ws://h:8000/x"),
        ({**TLS, "forwarded": "host=evil.org;proto=http"}, "wss://v.org/x"),
        ({}, "ws://h:8000/x"),
    ],
)
def test_the_address_that_the_device_used(headers: dict[str, str], url: str) -> None:
    found = public_url(
        {"host": "h:8003", **headers},
        "10.0.0.1",
        schemes=("ws", "wss"),
        port=8000,
        path="/x",
        trust_forwarded=True,
    )
    assert found == url


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        ({"forwarded": ["for=203.0.113.9"]}, "203.0.113.9"),
        ({"forwarded": ['for="203.0.113.9:4711"']}, "203.0.113.9"),
        ({"forwarded": ['For="[2001:db8::5]:4711"']}, "2001:db8::5"),
        ({"forwarded": ["for=1.1.1.1, for=203.0.113.9"]}, "203.0.113.9"),
        ({"forwarded": ["for=1.1.1.1", "for=203.0.113.9, for=10.2.3.4"]}, "203.0.113.9"),
        ({"forwarded": ["for=203.0.113.9, host=x"]}, None),
        ({"forwarded": ["for=unknown"]}, None),
        ({"forwarded": ["for=_hidden"]}, None),
        ({"forwarded": ["for=6.6.6.6"], "x-forwarded-for": ["203.0.113.9"]}, "203.0.113.9"),
        ({}, None),
    ],
)
def test_the_client(headers: dict[str, list[str]], client: str | None) -> None:
    proxies = Proxies(["127.0.0.1", "10.0.0.0/8"])
    stated = stated_clients(lambda name: headers.get(name, []))
    found = proxies.client(parse_address("127.0.0.1"), stated)
    assert (str(found) if found is not None else None) == client


def test_the_settings_go_before_all_headers() -> None:
    address = HttpAddress(lambda: 8003, public_url="https://v.org:8443/a")
    assert address(TLS, "10.0.0.1", trust_forwarded=True, path="/x") == "https://v.org:8443/a/x"


@given(st.dictionaries(st.sampled_from(["forwarded", "x-forwarded-prefix"]), st.text(max_size=80)))
def test_no_text_breaks_the_reading(headers: dict[str, str]) -> None:
    stated_address(headers)
    stated_clients(lambda name: [headers.get(name, "")])
