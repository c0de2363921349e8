"""Mandarin for Kokoro: syllables and numbers."""

from __future__ import annotations

import sys

import pytest

from vixio.core.errors import ProviderUnavailable
from vixio.providers.kokoro.chinese import Mandarin, syllable
from vixio.providers.kokoro.vocabulary import NUMBERS


@pytest.mark.parametrize(
    ("initial", "final", "whole", "symbols"),
    [
        ("n", "i3", "ni3", "ni↓"),
        ("h", "ao3", "hao3", "xau↓"),
        ("zh", "ong1", "zhong1", "\uab67ʊ→ŋ"),
        ("sh", "i4", "shi4", "ʂɨ↘"),
        ("z", "i5", "zi5", "ʦɨ"),
        ("", "uo3", "wo3", "wo↓"),
        ("", "o1", "o1", "ɔ→"),
        ("", "o1", "yo1", "wo→"),
        ("", "er2", "er2", "ɚ↗"),
        ("n", "v3", "nv3", "ny↓"),
        ("", "van2", "yuan2", "ɥɛ↗n"),
        ("", "", "n2", "n↗"),
        ("h", "m5", "hm5", "hm"),
        ("", "no such", "no such", ""),
    ],
)
def test_a_syllable(initial: str, final: str, whole: str, symbols: str) -> None:
    assert syllable(initial, final, whole) == symbols
    assert set(symbols) <= NUMBERS.keys()


def test_without_the_extra_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    monkeypatch.setitem(sys.modules, "pypinyin", None)
    with pytest.raises(ProviderUnavailable, match=r"pypinyin is not installed: make .*kokoro"):
        Mandarin("kokoro")
