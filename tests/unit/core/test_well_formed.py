from __future__ import annotations

import json

import pytest

from vixio.core.well_formed import well_formed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("grüß dich 你好 😀", "grüß dich 你好 😀"),
        ("a nul \0 stays", "a nul \0 stays"),
        ("\ud83d\ude00", "😀"),  # two halves that came apart
        ("she likes \ud83d\ude00.", "she likes 😀."),
        ("\ud83d", "\ufffd"),
        ("\ude00 first", "\ufffd first"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("😀\ud83d", "😀\ufffd"),
    ],
)
def test_halves_are_joined_or_replaced(text: str, expected: str) -> None:
    assert well_formed(text) == expected
    expected.encode()


def test_what_json_spells_in_two_strings() -> None:
    pieces = ['"she likes \\ud83d', '\\ude00"']
    assert well_formed(json.loads("".join(pieces))) == "she likes 😀"
    assert well_formed("".join(json.loads(f'"{half}"') for half in ("\\ud83d", "\\ude00"))) == "😀"
