"""The parts of a formula, and how they are joined: for the screen, in English and in Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from vixio.language.text import latex_table as table


class Formula(NamedTuple):
    """A formula as shown, and as spoken in each language that has words for it."""

    shown: str
    english: str
    chinese: str


@dataclass(slots=True)
class Term:
    """A part of a formula. ``kind``: number, letter, word, unit, operator, close, space or mark."""

    kind: str
    shown: str
    english: str
    chinese: str


_TEXT: Final = re.compile(r"\\[A-Za-z]+|[{}$\\~]")
_SIMPLE: Final = re.compile(r"[\d.,]+[°%]?|[^\W\d_][²³']?")
_SPACES: Final = re.compile(r"\s+")
_BEFORE_MARK: Final = re.compile(r" +([,;:)\]，；：）])")
_AFTER_OPENING: Final = re.compile(r"([(\[（]) +")


def put_letters(token: str, terms: list[Term], *, function: bool) -> None:
    before = terms[-1] if terms else None
    if before and before.shown.endswith("°") and token in ("C", "F"):
        _celsius(token, before)
        return
    if token in table.FUNCTIONS:
        terms.append(Term("word", *table.FUNCTIONS[token]))
        return
    if len(token) > 3 and token[1:].islower():  # a word, not a product of variables
        terms.append(Term("word", token, token, token))
        return
    terms += [Term("letter", letter, letter, letter) for letter in token]
    if function and token[-1] in "fgh":
        terms[-1].english += " of"


def _celsius(letter: str, before: Term) -> None:
    name, chinese = ("Celsius", "摄氏度") if letter == "C" else ("Fahrenheit", "华氏度")
    before.shown += letter
    before.english += f" {name}"
    before.chinese = before.chinese.removesuffix("度") + chinese


def operator(words: table.Words, terms: Sequence[Term]) -> Term:
    if not terms or terms[-1].kind in ("operator", "mark", "cell", "row"):
        if words.shown == "-":
            return Term("sign", "-", "minus", "负")
        if words.shown == "+":
            return Term("sign", "+", "plus", "正")
    if words.shown == "-" and terms[-1].shown in ("(", "["):
        return Term("sign", "-", "minus", "负")
    return Term("operator", *words)


def put_symbol(words: table.Words, terms: list[Term]) -> None:
    shown = "|" if words.shown == "¦" else words.shown
    if shown in ("%", "°"):
        attach(terms, shown, words.english, words.chinese)
    else:
        terms.append(Term("letter", shown, words.english, words.chinese))


def attach(terms: list[Term], shown: str, english: str, chinese: str) -> None:
    """Write something behind the last term, and as a part of it."""
    if not terms:
        terms.append(Term("close", "", "", ""))
    last = terms[-1]
    if shown == "°" and last.english == "1":
        english = "degree"
    last.shown += shown
    last.english = f"{last.english} {english}".strip()
    last.chinese += chinese


def put_text(source: str, terms: list[Term]) -> None:
    text = _SPACES.sub(" ", _TEXT.sub(" ", source))
    bare = text.strip()
    before = next((term for term in reversed(terms) if term.kind != "space"), None)
    if before and before.shown.endswith("°") and bare in ("C", "F"):
        _celsius(bare, before)
    elif before and before.kind == "number" and bare in table.UNITS:
        unit = table.UNITS[bare]
        plural = "" if before.english == "1" else "s"
        terms.append(Term("unit", f" {unit.shown}", unit.english + plural, unit.chinese))
    elif before and before.kind == "number" and bare in table.WITHOUT_PLURAL:
        unit = table.WITHOUT_PLURAL[bare]
        terms.append(Term("unit", f" {unit.shown}", unit.english, unit.chinese))
    elif bare:
        terms.append(Term("word", text, bare, bare))


def raise_unit(term: Term, power: str) -> None:
    shown = term.shown + ("²" if power == "2" else "³")
    known = table.WITHOUT_PLURAL.get(shown.strip())
    if known:
        english, chinese = known.english, known.chinese
    else:
        word, wide = ("square", "平方") if power == "2" else ("cubic", "立方")
        english, chinese = f"{word} {term.english}", wide + term.chinese
    term.shown, term.english, term.chinese = shown, english, chinese


def fraction(over: list[Term], under: list[Term], terms: Sequence[Term]) -> Term:
    top, bottom = joined(over), joined(under)
    shown = f"{grouped(top.shown, product=True)}/{grouped(bottom.shown)}"
    chinese = f"{bottom.chinese}分之{top.chinese}"
    english = f"{top.english} over {bottom.english}"
    if top.shown.isdigit() and bottom.shown.isdigit():
        if bottom.shown in map(str, range(2, 11)) and top.shown != "0":
            part = table.PARTS[int(bottom.shown) - 2]
            many = "halves" if part == "half" else f"{part}s"
            english = f"one {part}" if top.shown == "1" else f"{top.shown} {many}"
        if terms and terms[-1].kind == "number":  # two and a half
            shown, english, chinese = f" {shown}", f"and {english}", f"又{chinese}"
    elif " " in top.shown:
        english = f"{top.english}, over {bottom.english}"
    return Term("fraction", shown, english, chinese)


def grouped(shown: str, *, product: bool = False) -> str:
    """Return ``shown`` in brackets, unless it is one term."""
    if _SIMPLE.fullmatch(shown) or (product and shown.isalnum()):
        return shown
    return f"({shown})"


# -- writing -----------------------------------------------------------------------------------


def joined(terms: Sequence[Term]) -> Formula:
    shown: list[str] = []
    before = ""
    for term in terms:
        wide = bool({"word", "large"} & {before, term.kind}) or term.kind == "operator"
        wide = wide or (before == "fraction" and term.kind in ("letter", "number"))
        bracket = before == "word" and term.shown == "("
        if wide and shown and term.kind not in ("close", "mark") and not bracket:
            shown.append(" ")
        shown.append(term.shown)
        if term.kind in ("operator", "mark", "cell"):
            shown.append(" ")
        before = term.kind
    return Formula(
        _tidy("".join(shown)),
        _tidy(" ".join(term.english for term in terms if term.english)),
        _chinese(terms),
    )


def _tidy(text: str) -> str:
    text = _BEFORE_MARK.sub(r"\1", _SPACES.sub(" ", text))
    return _AFTER_OPENING.sub(r"\1", text).strip()


def _chinese(terms: Sequence[Term]) -> str:
    found = ""
    for term in terms:
        latin = term.kind == "word" and term.chinese[:1].isascii() and term.chinese
        if found and latin and found[-1].isascii() and found[-1].isalnum():
            found += " "
        found += term.chinese
    return _tidy(found)
