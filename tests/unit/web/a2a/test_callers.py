"""Tokens and keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from vixio.core.device import normalise_device_id
from vixio.web.a2a.callers import Callers, Scope, conversation_key, is_program_here


def test_the_owner_of_a_token() -> None:
    callers = Callers({"alice": SecretStr("a" * 16), "bob": SecretStr("b" * 16)})
    assert callers.owner(f"Bearer {'a' * 16}") == "alice"
    assert callers.owner(f"bearer  {'b' * 16} ") == "bob"
    for wrong in ("", "Bearer", "Bearer ", "a" * 16, f"Basic {'a' * 16}", f"Bearer {'a' * 15}"):
        assert callers.owner(wrong) == ""
    assert callers.owner("Bearer \udcff") == ""


@given(st.text(max_size=100), st.text(max_size=100))
def test_contexts_have_keys_of_their_own(one: str, other: str) -> None:
    keys = [conversation_key("alice", each) for each in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)
    assert conversation_key("bob", one) not in keys
    for key in keys:
        assert normalise_device_id(key) == key
        assert key.count("/") == 2
        assert len(key) <= 128


def test_scopes_have_names_of_their_own() -> None:
    names = {Scope(owner, device).name for owner in ("a", "b") for device in ("", "x", "y")}
    assert len(names) == 6


@pytest.mark.parametrize(
    ("peer", "headers", "here"),
    [
        ("127.0.0.1", {"host": "127.0.0.1:8003"}, True),
        ("127.5.6.7", {"host": "localhost"}, True),
        ("::1", {"host": "[::1]:8003"}, True),
        ("::ffff:127.0.0.1", {"host": "LOCALHOST:8003"}, True),
        ("192.0.2.7", {"host": "localhost"}, False),
        ("::ffff:192.0.2.7", {"host": "localhost"}, False),
        ("", {"host": "localhost"}, False),
        ("127.0.0.1", {}, False),
        ("127.0.0.1", {"host": "voice.example.org"}, False),
        ("127.0.0.1", {"host": "localhost.example.org"}, False),  # rebinding of a name
        ("127.0.0.1", {"host": "192.0.2.7:8003"}, False),
        ("127.0.0.1", {"host": "localhost", "x-forwarded-for": "127.0.0.1"}, False),
        ("127.0.0.1", {"host": "localhost", "x-real-ip": "192.0.2.7"}, False),
        ("127.0.0.1", {"host": "localhost", "forwarded": "for=192.0.2.7"}, False),
        ("127.0.0.1", {"host": "localhost", "via": "1.1 proxy"}, False),
        ("127.0.0.1", {"host": "localhost", "origin": "null"}, False),
        ("127.0.0.1", {"host": "localhost", "sec-fetch-site": "cross-site"}, False),
        ("127.0.0.1", {"host": "localhost", "referer": "https://example.org/"}, False),
    ],
)
def test_programs_of_this_machine(peer: str, headers: dict[str, str], here: bool) -> None:
    assert is_program_here(peer, headers) is here
