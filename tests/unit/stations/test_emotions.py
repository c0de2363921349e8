"""The 21 emotions of the firmware, and their emoji."""

from __future__ import annotations

import pytest

from vixio.core.emotions import _MORE, EMOTIONS, emotion_of

FIRMWARE_NAMES = """
neutral happy laughing funny sad angry crying loving embarrassed surprised shocked thinking winking
cool relaxed delicious kissy confident sleepy silly confused
"""


def test_the_names_are_those_of_the_firmware() -> None:
    assert list(EMOTIONS) == FIRMWARE_NAMES.split()


@pytest.mark.parametrize(("name", "emoji"), EMOTIONS.items())
def test_each_names_own_emoji_stands_for_it(name: str, emoji: str) -> None:
    assert emotion_of(emoji) == name


def test_no_emoji_stands_for_two_names() -> None:
    written = [emoji for row in _MORE.values() for emoji in row.split()]
    written += EMOTIONS.values()
    assert len(written) == len(set(written)) >= 60 + len(EMOTIONS)
    assert set(_MORE) <= set(EMOTIONS)
    assert all(emotion_of(emoji) for emoji in written)


@pytest.mark.parametrize(
    ("emoji", "name"),
    [
        ("❤️", "loving"),
        ("❤", "loving"),
        ("👍🏽", "happy"),
        ("❤️‍🔥", "loving"),
        ("😮‍💨", "relaxed"),
        ("😮", "surprised"),
        ("🤷🏻‍♀️", "confused"),
        ("☺️", "happy"),
    ],
)
def test_selector_skin_tone_and_joined_forms(emoji: str, name: str) -> None:
    assert emotion_of(emoji) == name


@pytest.mark.parametrize("emoji", ["🪚", "🇩🇪", "1️⃣", "", "a", "\u200d"])
def test_unknown_emoji_stand_for_nothing(emoji: str) -> None:
    assert emotion_of(emoji) is None
