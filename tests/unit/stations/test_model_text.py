"""What a model writes that is not read as written: the rows of model_text.txt, in any pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vixio.cli.diagnostics.say import sentences
from vixio.language.text.latex import render
from vixio.language.text.splitter import Face, Words
from vixio.stations.speech_text import SpeechText


class Row(NamedTuple):
    """One text, and what becomes of it."""

    written: str
    shown: str
    spoken: str
    faces: str


def _rows() -> list[Row]:
    found: list[Row] = []
    for block in Path(__file__).with_name("model_text.txt").read_text("utf-8").split("\n\n"):
        parts = {line[0]: line[2:] for line in block.splitlines()}
        if ">" in parts:
            shown = parts["="]
            written = parts[">"].replace("⏎", "\n")
            found.append(Row(written, shown, parts.get("~", shown), parts.get("!", "")))
    return found


ROWS: Final = _rows()


def read(deltas: list[str], language: str = "") -> tuple[str, str, str]:
    speech = SpeechText(language=language)
    pieces = [piece for delta in deltas for piece in speech.feed(delta)]
    pieces += speech.finish()
    words = [piece for piece in pieces if isinstance(piece, Words)]
    return (
        " ".join(piece.shown for piece in words),
        " ".join(piece.spoken for piece in words),
        "".join(piece.emoji for piece in pieces if isinstance(piece, Face)),
    )


def test_there_are_rows_of_every_kind() -> None:
    assert len(ROWS) >= 150


@pytest.mark.parametrize("row", ROWS, ids=[row.written for row in ROWS])
def test_a_row(row: Row) -> None:
    assert read([row.written]) == row[1:]
    assert read(list(row.written)) == row[1:]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ROWS), st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_the_pieces_of_a_row_do_not_matter(row: Row, sizes: list[int]) -> None:
    deltas, at, turn = [], 0, 0
    while at < len(row.written):
        size = sizes[turn % len(sizes)]
        deltas.append(row.written[at : at + size])
        at, turn = at + size, turn + 1
    assert read(deltas) == row[1:]


WORDS: Final = r"""
\( \) \[ \] $ $$ \frac \frac{1}{2} { } ^ ^2 ^{2} _ _1 \sqrt \sqrt[ ] \times \circ
^\circ C \text{ \text{a \begin{cases} \end{cases} \\ & \left( \right) \ce{H2O} \ \, \d
C:\ = + - x y 12 the and is 好 ， 。 [1 [1] [[1]] 【 】 【4†source】 cite
turn0search0 [cite: 3] :contentReference[oaicite:0] ( ) （ ） *laughs* (laughs)
（微笑） * smiles :) :-D ^_^ (^ _ ^) ¯\_(ツ)_/¯ ヽ ٩ o XD T_T <sub alias="x">
</sub> <sup> 2</sup> <break/> <? | # >
"""
PARTS: Final = [
    *WORDS.split(),
    *(" ", " ", "\n", "\n\n", "\ue200cite\ue202", "\ue200", "\ue201", "`"),
]
texts = st.lists(st.sampled_from(PARTS), max_size=30).map("".join)


@settings(max_examples=300, deadline=None)
@given(texts, st.lists(st.integers(1, 12), min_size=1, max_size=12))
def test_the_pieces_of_any_text_do_not_matter(text: str, sizes: list[int]) -> None:
    deltas, at, turn = [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        deltas.append(text[at : at + size])
        at, turn = at + size, turn + 1
    assert read(deltas) == read([text]) == read(list(text))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PARTS) | st.characters(), max_size=40).map("".join))
def test_any_formula_can_be_rendered(source: str) -> None:
    for words in render(source):
        assert words == words.strip()


def test_deep_braces_are_bounded() -> None:
    assert render("{" * 5000 + "x" + "}" * 5000)
    assert render("\\frac" * 5000)
    assert render("\\sqrt{" * 2000 + "^" * 2000)


@pytest.mark.parametrize(
    ("text", "language", "spoken"),
    [
        (r"\(x^2 = 4\)", "", "x squared equals 4"),
        (r"\(x^2 = 4\)", "en-GB", "x squared equals 4"),
        (r"\(x^2 = 4\)", "zh-CN", "x的平方等于4"),
        (r"答案是\(x^2 = 4\)。", "en", "答案是x的平方等于4。"),
        (r"The answer is \(x^2 = 4\).", "zh", "The answer is x squared equals 4."),
        (r"答案如下。\(x^2 = 4\)", "en", "答案如下。 x的平方等于4"),
        (r"Das ist \(x^2 = 4\).", "de", "Das ist x² = 4."),
        (r"答えは\(x^2 = 4\)です。", "ja", "答えはx² = 4です。"),
        (r"正解\(x^2 = 4\)", "ja", "正解x² = 4"),
        (r"25\times4", "en", "25 times 4"),
        (r"25\times4", "zh", "25乘4"),
    ],
)
def test_the_language_of_a_formula(text: str, language: str, spoken: str) -> None:
    assert read([text], language)[1] == spoken == read(list(text), language)[1]
    assert " ".join(sentences(text, language)) == spoken


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It rains \ue200cite\ue202turn0search0\ue202turn1view2\ue201.", "It rains."),
        ('\ue200entity\ue202["city","Paris"]\ue201 is big.', "Paris is big."),
        ("It \ue200navlist\ue202News\ue202turn0news1\ue201 ends.", "It ends."),
        ("A lone \ue200 mark.", "A lone mark."),
        ("End \ue201 or \ue202 alone.", "End or alone."),
        ("Open \ue200cite and more\nwords.", "Open cite and more words."),
    ],
)
def test_the_marks_of_openai(text: str, shown: str) -> None:
    assert read([text])[0] == shown == read(list(text))[0]


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 today and ",
        "See \\(the old page ",
        "Open *very much ",
        "At (about ",
        "Pay $HOME is ",
    ],
)
def test_prose_is_not_held_back(text: str) -> None:
    speech = SpeechText()
    assert not [*speech.feed(text)]
    assert len(speech._markdown._buffer) <= 2


def test_what_stays_open_is_held_within_bounds() -> None:
    for opening in (
        "$x = ",
        "\\(",
        "$$ x + ",
        "\\begin{cases} ",
        "\\frac{",
        "【4†",
        "\ue200cite",
        "<sup>",
    ):
        speech = SpeechText()
        longest = 0
        for character in opening + "1+" * 800:
            list(speech.feed(character))
            longest = max(longest, len(speech._markdown._buffer))
        assert longest < 700
