"""Secrets that a browser shows and sends back."""

from __future__ import annotations

from typing import Any

import pytest

from vixio.composition.masks import masked, restored, secrets

STORED: dict[str, Any] = {
    "assistant": {"instructions": "the password: is *** at https://u:p@x.test"},
    "agent": {
        "name": "openai",
        "base_url": "https://llm.test/v1",
        "api_key": "sk-1",
        "model": "m",
        "max_tokens": 200,
        "extra_body": {"thinking": {"type": "disabled"}, "token": "t-1"},
    },
    "tts": [
        {"name": "openai", "base_url": "https://u:p@voice.test/v1", "api_key": 123456},
        {"name": "openai", "api_key": "${OPENAI_API_KEY}"},
    ],
    "mcp_servers": {
        "one": {"url": "https://home.test/mcp", "headers": {"Authorization": "Bearer a"}},
        "two": {"url": "https://home.test/mcp", "headers": {"Authorization": "Bearer b"}},
    },
}


def nothing(_: str) -> str:
    return ""


def test_what_is_shown_has_no_secret_and_comes_back_whole() -> None:
    found = masked(STORED)
    assert found["assistant"] == STORED["assistant"]
    assert found["agent"] == {
        **STORED["agent"],
        "api_key": "***",
        "extra_body": {"thinking": {"type": "disabled"}, "token": "***"},
    }
    assert found["tts"][0] == {
        "name": "openai",
        "base_url": "https://***@voice.test/v1",
        "api_key": "***",
    }
    assert found["tts"][1] == STORED["tts"][1], "the name of a variable is no secret"
    for secret in secrets(STORED):
        assert secret not in str(found)
    assert {"sk-1", "t-1", "123456", "Bearer a"} <= secrets(STORED)
    again, mistakes = restored(found, STORED, nothing)
    assert mistakes == []
    expected = {**STORED, "tts": [{**STORED["tts"][0], "api_key": "123456"}, STORED["tts"][1]]}
    assert again == expected


@pytest.mark.parametrize(
    ("section", "changes"),
    [
        ("agent", {"base_url": "https://evil.test/v1"}),
        ("agent", {"base_url": ["https://llm.test/v1", "https://evil.test/v1"]}),
        ("agent", {"base_url": ""}),
        ("agent", {"proxy": "http://evil.test"}),
        ("agent", {"models": [{"api_key": "***", "base_url": "https://evil.test/v1"}]}),
    ],
)
def test_a_secret_is_not_sent_elsewhere(section: str, changes: dict[str, Any]) -> None:
    found = {section: {**masked(STORED)[section], **changes}}
    again, mistakes = restored(found, STORED, nothing)
    assert mistakes
    assert all(path.startswith("agent.") for path, _ in mistakes)
    if "models" not in changes:
        assert "sk-1" not in str(again)


def test_a_part_of_the_same_server_may_use_it() -> None:
    asr = {"name": "openai", "base_url": "https://llm.test/v1", "api_key": "***"}
    again, mistakes = restored({"asr": asr}, STORED, nothing)
    assert (again["asr"]["api_key"], mistakes) == ("sk-1", [])


def test_a_variable_is_for_the_service_alone() -> None:
    def known(base_url: str) -> str:
        return "${OPENAI_API_KEY}" if not base_url else ""

    mine = {"agent": {"name": "openai", "api_key": "***"}}
    assert restored(mine, {}, known)[0]["agent"]["api_key"] == "${OPENAI_API_KEY}"
    for other in (
        {"agent": {"name": "another", "api_key": "***"}},
        {"agent": {"name": "openai", "base_url": "https://x.test", "api_key": "***"}},
        {"agent": {"name": "openai", "token": "***"}},
    ):
        assert restored(other, {}, known)[1]


def test_addresses_of_calendars_and_keys_of_a_search_are_secrets() -> None:
    calendars = {"addresses": ["https://c.test/a", "https://c.test/b"]}
    search = {"service": "searxng", "base_url": "https://s.test", "api_key": "k-1"}
    stored = {"tools": {"ready": {"calendar": calendars, "search": search}}}
    shown = masked(stored)
    assert shown["tools"]["ready"]["calendar"] == {"addresses": ["***", "***"]}
    assert shown["tools"]["ready"]["search"]["api_key"] == "***"
    assert restored(shown, stored, nothing) == (stored, [])
    assert secrets(stored) == {*calendars["addresses"], "k-1"}
    shown["tools"]["ready"]["search"]["base_url"] = "https://elsewhere.test"
    _, mistakes = restored(shown, stored, nothing)
    assert [place for place, _ in mistakes] == ["tools.ready.search.api_key"]
