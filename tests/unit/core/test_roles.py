"""Which role is meant, and how roles are written."""

from __future__ import annotations

import pytest

from vixio.core.roles import Roles
from vixio.settings import Settings
from vixio.settings.shown import shown

ROLES = Roles.of(
    {
        "storyteller": "the storyteller, 讲故事的人",
        "english-teacher": ["English teacher", "Miss Brown", "英语老师"],
        "pirate": "",
    }
)


@pytest.mark.parametrize(
    ("words", "profile"),
    [
        ("storyteller", "storyteller"),
        ("The Storyteller!", "storyteller"),
        ("the story teller", "storyteller"),
        ("story tailor", "storyteller"),
        ("storyteler role", "storyteller"),
        ("讲故事的人", "storyteller"),
        ("讲故事得人", "storyteller"),
        ("英语老师角色", "english-teacher"),
        ("mis brown", "english-teacher"),
        ("an English teacher", "english-teacher"),
        ("pirates", "pirate"),
        ("adult", None),
        ("teller of jokes", None),
        ("", None),
        ("老师", None),
        ("x" * 10_000, None),
    ],
)
def test_who_is_meant(words: str, profile: str | None) -> None:
    assert ROLES.find(words) == profile


def test_what_is_as_near_to_two_is_none() -> None:
    roles = Roles.of({"a": "robot one", "b": "robot two"})
    assert roles.find("robot") is None
    assert roles.find("robot one") == "a"


def test_names_and_what_is_said() -> None:
    assert "pirate" in ROLES
    assert "adult" not in ROLES
    assert ROLES.called("storyteller") == "the storyteller"
    assert ROLES.called("english-teacher") == "English teacher"
    assert ROLES.called("adult") == "adult"
    assert ROLES.called("storyteller", "zh-CN") == "讲故事的人"
    assert ROLES.called("pirate", "zh-CN") == "pirate"
    assert Roles.of(["bed-time"]).spoken == ("bed time",)
    assert ROLES.spoken[:2] == ("storyteller", "讲故事的人")
    assert not Roles()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({str(number): "" for number in range(21)}, "at most 20"),
        ({"a": "x" * 65}, "at most 8 names of 64"),
        ({"a": ",".join(map(str, range(9)))}, "at most 8 names"),
        ({"a": "the captain", "b": "Captain"}, "is the name of 'a' and of 'b'"),
        ({"a": "!"}, "that can be spoken"),
        ({"a": [5]}, "expected text"),
        (5, "mapping"),
    ],
)
def test_mistakes(given: object, words: str) -> None:
    from vixio.settings.profile import profile_mistakes

    (mistake,) = profile_mistakes(Settings(), {"roles": given}, {})
    assert words in mistake.message


def test_they_are_shown_as_in_a_file() -> None:
    settings = Settings.model_validate({"assistant": {"roles": {"pirate": "Pete, 海盗"}}})
    assert shown(settings).values["assistant"]["roles"] == {"pirate": ["Pete", "海盗"]}
