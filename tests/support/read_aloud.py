"""Whether written sentences are read as a person would, by the sounds that eSpeak NG makes of them.

A table has a sentence as a model writes it, the words of a person who reads it aloud, and other
ways that are right too. A reading is right if eSpeak NG says the same for it as for one of those:
"8 oh 5" and "eight oh five" are, so digits may stay where every voice reads them.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time

from vixio.cli.diagnostics.say import sentences
from vixio.providers.local_voice.phonemes import Phonemes

TABLES = Path(__file__).resolve().parents[1] / "unit" / "language" / "normalisation"
_VOICES = {"en": "en-us", "zh": "cmn"}
_SAME = str.maketrans("ɾᵻ", "tɪ", "ˈˌ")
"""Sounds that differ by the stress of the words around them."""


@dataclass(frozen=True)
class Sentence:
    """A row. ``written``: as a voice gets it today, without Markdown and paths of addresses."""

    language: str
    written: str
    right: Sequence[str]


def table(name: str) -> Iterator[Sentence]:
    with TABLES.joinpath(name).open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        for language, written, *right in rows:
            yield Sentence(language, " ".join(sentences(written, language)), right)


@cache
def _phonemes(language: str) -> Phonemes:
    return Phonemes("tests", _VOICES[language])


def _sounds(text: str, language: str) -> str:
    said = _phonemes(language).of(text).translate(_SAME)
    return "".join(each for each in said if each.isalnum())


def misread(name: str, read: Callable[[str, str], str] | None) -> list[str]:
    """Return the readings of a table that are not right; print their share and what each costs."""
    rows, wrong, took = list(table(name)), [], []
    for row in rows:
        began = process_time()
        words = read(row.written, row.language) if read is not None else row.written
        took.append(process_time() - began)
        if _sounds(words, row.language) not in {_sounds(it, row.language) for it in row.right}:
            wrong.append(f"{row.written!r} is read {words!r}, not {row.right[0]!r}")
    for language in _VOICES:
        _phonemes(language).close()
    _phonemes.cache_clear()
    took.sort()
    told = (
        f"\n{name}: {len(rows) - len(wrong)} of {len(rows)} right; processor time "
        f"p50 {took[len(took) // 2] * 1000:.2f}, p95 {took[len(took) * 95 // 100] * 1000:.2f} ms"
    )
    sys.stdout.write("\n  ".join([told, *wrong]) + "\n")
    return wrong
