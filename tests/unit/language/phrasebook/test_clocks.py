"""Times, dates and what devices report, in the words of each book."""

from __future__ import annotations

import json

import pytest

from tests.unit.language.phrasebook.tools import COMMON
from vixio.language.phrasebook import PhraseBook

ASKED = {
    "de": ("wie spät ist es", "welcher Tag ist heute", "wie ist das WLAN"),
    "en": ("what time is it", "what day is it", "how is the network"),
    "es": ("qué hora es", "qué día es hoy", "cómo está el wifi"),
    "fr": ("quelle heure est-il", "quel jour sommes-nous", "comment est le wifi"),
    "ja": ("今何時", "今日は何日", "電波の状態は"),
    "zh": ("现在几点", "今天几号", "信号怎么样"),
}


def reply(language: str, asked: int, result: str) -> str:
    match = PhraseBook.load(language).compile(COMMON).match(ASKED[language][asked])
    assert match is not None
    return match.reply(result)


@pytest.mark.parametrize(
    ("language", "at", "said"),
    [
        ("de", "14:05", "Es ist 14 Uhr 5."),
        ("de", "00:30", "Es ist 0 Uhr 30."),
        ("de", "13:00", "Es ist 13 Uhr."),
        ("en", "13:10", "It is 1:10 PM."),
        ("en", "12:00", "It is 12:00 PM."),
        ("es", "14:05", "Son las 14 y 5."),
        ("es", "01:05", "Es la 1 y 5."),
        ("es", "01:00", "Es la 1 en punto."),
        ("es", "00:00", "Son las 0 en punto."),
        ("fr", "14:05", "Il est 14 heures 5."),
        ("fr", "01:00", "Il est 1 heure."),
        ("fr", "00:15", "Il est 0 heure 15."),
        ("ja", "14:05", "14時5分です。"),
        ("ja", "09:00", "9時です。"),
        ("zh", "13:10", "现在是13点10分。"),
        ("zh", "13:00", "现在是13点整。"),
    ],
)
def test_a_time(language: str, at: str, said: str) -> None:
    assert reply(language, 0, at) == said


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("de", "Heute ist Sonntag, der erste März 2026."),
        ("en", "It is Sunday, March 1, 2026."),
        ("es", "Hoy es domingo, 1 de marzo de 2026."),
        ("fr", "Nous sommes le dimanche premier mars 2026."),
        ("ja", "今日は2026年3月1日、日曜日です。"),
        ("zh", "今天是2026年3月1日，星期日。"),
    ],
)
def test_a_date(language: str, said: str) -> None:
    assert reply(language, 1, "2026-03-01") == said


@pytest.mark.parametrize("language", ASKED)
def test_every_day_and_month_has_its_word(language: str) -> None:
    said = {reply(language, 1, f"2026-{month:02d}-{day:02d}") for month, day in _days()}
    assert len(said) == 12 * 28


def _days() -> list[tuple[int, int]]:
    return [(month, day) for month in range(1, 13) for day in range(1, 29)]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("de", "Das Signal ist stark, Verbindung über WLAN."),
        ("en", "The wifi signal is strong."),
        ("es", "La señal de wifi es fuerte."),
        ("fr", "Le signal wifi est fort."),
        ("ja", "無線LANの電波は、強いです。"),
        ("zh", "无线网信号：强。"),
    ],
)
def test_what_a_device_reports_in_english(language: str, said: str) -> None:
    status = json.dumps({"network": {"type": "wifi", "signal": "strong"}})
    assert reply(language, 2, status) == said
