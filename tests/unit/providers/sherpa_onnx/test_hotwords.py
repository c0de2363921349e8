"""Hotwords are written with the symbols of the model, or left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.providers.sherpa_onnx.hotwords import MOST, Hotwords


def hotwords(folder: Path, unit: str, *symbols: str) -> Hotwords:
    path = folder / "tokens.txt"
    lines = [f"{symbol} {number}\n" for number, symbol in enumerate(("<blk>", *symbols))]
    path.write_text("".join(lines), encoding="utf-8")
    return Hotwords(path, unit)


def test_a_character_that_is_not_there_costs_its_word_alone(tmp_path: Path) -> None:
    written = hotwords(tmp_path, "cjkchar", *"开灯关")
    assert written(["开灯", "小智", "关 灯", "lamp"]) == "开灯/关 灯"


@pytest.mark.parametrize(
    ("unit", "words"),
    [("bpe", "LIVING ROOM/LAMP"), ("cjkchar+bpe", "LIVING ROOM/LAMP/灯"), ("", "")],
)
def test_pieces_of_words_are_capitals_where_the_model_has_no_others(
    tmp_path: Path, unit: str, words: str
) -> None:
    written = hotwords(tmp_path, unit, "\u2581LA", "MP", "\u2581LIV", "ING", "灯")
    assert written(["living room", "Lamp", "lamp", "灯", "门"]) == words


def test_small_letters_stay_where_the_model_has_them(tmp_path: Path) -> None:
    assert hotwords(tmp_path, "bpe", "\u2581la", "mp")(["Lamp"]) == "Lamp"


def test_what_the_library_takes_for_instructions_is_left_out(tmp_path: Path) -> None:
    written = hotwords(tmp_path, "bpe", "a")
    assert written([":9", "#1", "@x", "a/b", "a:b", "", " ", "a  b", "it's"]) == "it's"


def test_there_is_a_limit(tmp_path: Path) -> None:
    written = hotwords(tmp_path, "bpe", "a")
    assert written([f"word{number}" for number in range(500)]).count("/") == MOST - 1
