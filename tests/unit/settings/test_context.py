"""The key `context`: how it is read, what is refused, who may name private addresses."""

from __future__ import annotations

from typing import Any

import pytest

from vixio.composition.masks import masked
from vixio.composition.profile_form import profile_form
from vixio.core.device import Device
from vixio.core.errors import ConfigError
from vixio.core.moment import ContextSource
from vixio.data.devices.profiles import SettingsProfiles
from vixio.settings import Settings
from vixio.settings.profile import profile_mistakes, stored_section
from vixio.settings.shown import shareable, shown

ROOM = {
    "url": "http://192.168.1.5/state?key=hunter2",
    "headers": {"X-Any": "hunter2"},
    "result": "state.temperature",
    "text": "{value} degrees",
    "every": 60,
}
DIARY = {"mcp": "family", "resource": "calendar://today"}
GIVEN = {"room": ROOM, "diary": DIARY, "notice": "https://example.org/notice"}


def of(context: dict[str, Any]) -> Settings:
    return Settings.model_validate({"assistant": {"context": context}})


def test_it_is_read_and_belongs_to_profiles() -> None:
    profile = SettingsProfiles(of(GIVEN))(Device("a"))
    assert profile.context is not None
    assert profile.context.sources == (
        ContextSource(
            "room",
            url=str(ROOM["url"]),
            headers=(("X-Any", "hunter2"),),
            result="state.temperature",
            text="{value} degrees",
            every=60.0,
            private=True,
        ),
        ContextSource("diary", mcp="family", resource="calendar://today", private=True),
        ContextSource("notice", url="https://example.org/notice", private=True),
    )
    assert "hunter2" not in repr(profile.context.sources[0].headers and profile.context.sources[1])
    own = Settings.model_validate(
        {"assistant": {"context": GIVEN}, "devices": {"a": {"context": {}}}}
    )
    found = SettingsProfiles(own)(Device("a")).context
    assert found is not None
    assert found.sources == (), "a device may have none"


def test_of_a_stored_profile_no_address_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    content = {"context": {"room": {**ROOM, "headers": {"Authorization": "Bearer ${ROOM_KEY}"}}}}
    section = stored_section(Settings(), content, {"ROOM_KEY": "hunter3"})
    assert section.context is not None
    (room,) = section.context.sources
    assert not room.private
    assert room.headers == (("Authorization", "Bearer hunter3"),)


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({"room": {}}, "either url"),
        ({"room": {**DIARY, "url": "http://a.example.org/"}}, "not both"),
        ({"room": {"mcp": "family"}}, "belong together"),
        ({"room": {"resource": "x://y"}}, "either url"),
        ({"room": "ftp://x"}, "http:// or https://"),
        ({"room": "http://[::1"}, "http:// or https://"),
        ({"room": "http://a:b@x.example.org/"}, "set a header"),
        ({"room": {**DIARY, "headers": {"A": "b"}}}, "headers belong to a url"),
        ({"room": {"url": "http://a/", "text": "degrees"}}, "{value}"),
        ({"room": {"url": "http://a/", "result": "a["}}, "JMESPath"),
        ({"room": {"url": "http://a/", "every": 1}}, "10"),
        ({"room": {"url": "http://a/", "evry": 60}}, "no such key"),
        ({"room": 5}, "expected an address"),
        ({"a\nb": "http://a/"}, "printable"),
        ({str(n): "http://a/" for n in range(9)}, "at most 8"),
        ([], "mapping"),
    ],
)
def test_mistakes_are_named(context: Any, words: str) -> None:  # noqa: ANN401 - YAML
    mistakes = profile_mistakes(Settings(), {"context": context}, {})
    assert len(mistakes) == 1
    assert words in mistakes[0].message
    assert mistakes[0].path.startswith("context")
    with pytest.raises(ConfigError):
        stored_section(Settings(), {"context": context}, {})


def test_secrets_are_not_shown() -> None:
    texts = (
        shown(of(GIVEN)).values["assistant"]["context"],
        profile_form(of(GIVEN))["defaults"]["context"],
        masked({"context": GIVEN}),
        shareable({"context": GIVEN}),
    )
    for text in texts:
        assert "hunter2" not in str(text)
        assert "calendar://today" in str(text)
        assert "state.temperature" in str(text)
