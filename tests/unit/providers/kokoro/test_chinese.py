"""Mandarin for Kokoro: syllables and numbers."""

from __future__ import annotations

import sys

import pytest

from vixio.core.errors import ProviderUnavailable
from vixio.providers.kokoro.chinese import Mandarin, syllable
from vixio.providers.kokoro.chinese_numbers import quantity, spelled
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


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("0", "零"),
        ("10", "十"),
        ("15", "十五"),
        ("110", "一百一十"),
        ("1005", "一千零五"),
        ("10010", "一万零一十"),
        ("100500", "十万零五百"),
        ("20000", "二万"),
        ("100000000", "一亿"),
        ("100000001", "一亿零一"),
        ("1000000010000", "一万亿零一万"),
        ("-1204.50", "负一千二百零四点五零"),
        ("12345678901234567", "一二三四五六七八九零一二三四五六七"),
    ],
)
def test_a_quantity(number: str, words: str) -> None:
    assert quantity(number) == words


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026年11月3日", "二零二六年十一月三日"),
        ("2026-11-03", "二零二六年十一月三日"),
        ("12:30", "十二点三十分"),
        ("8:05", "八点零五分"),
        ("2:00", "两点"),
        ("气温-3.5℃", "气温零下三点五摄氏度"),
        ("25°C", "二十五摄氏度"),
        ("音量是30%", "音量是百分之三十"),
        ("1/3", "三分之一"),
        ("¥3.5", "三点五元"),
        ("1,234,567元", "一百二十三万四千五百六十七元"),
        ("10-20个", "十到二十个"),
        ("2个", "两个"),
        ("第2个", "第二个"),
        ("13800138001", "一三八零零一三八零零一"),
        ("007", "零零七"),
        ("0.5kg", "零点五公斤"),
        ("没有数字", "没有数字"),
    ],
)
def test_numbers_are_read_by_what_they_count(text: str, read: str) -> None:
    assert spelled(text) == read
