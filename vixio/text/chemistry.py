r"""Writes substances and reactions (``\ce{2H2 + O2 -> 2H2O}``) for the screen and for a voice."""

from __future__ import annotations

import re
from typing import Final

from vixio.text.latex_table import Words

_PART: Final = re.compile(
    r"(?P<arrow><=>|<->|->|=>|<-|→|⇌)|(?P<number>\d+)|(?P<element>[A-Z][a-z]?)"
    r"|\^\{?(?P<charge>\d*[+-])\}?|(?P<state>\((?:aq|s|l|g)\))|(?P<plus>(?<=\s)\+(?=\s))|(?P<other>[^\s_^{}$\\])"
)
_STATES: Final = {
    "(aq)": ("in water", "水溶液"),
    "(s)": ("solid", "固体"),
    "(l)": ("liquid", "液体"),
    "(g)": ("gas", "气体"),
}
_CHARGES: Final = {"+": ("plus", "正"), "-": ("minus", "负")}


def read_substances(source: str) -> Words:
    """Return what ``source`` shows and says; marks that are not known are left out of speech."""
    shown: list[str] = []
    english: list[str] = []
    chinese: list[str] = []
    for part in _PART.finditer(source):
        text = part[0].strip()
        if part["arrow"]:
            both = "<" in text and ">" in text
            shown.append(" ⇌ " if both or text == "⇌" else " → ")
            english.append("is in equilibrium with" if both else "yields")
            chinese.append("可逆生成" if both else "生成")
        elif part["plus"]:
            shown.append(" + ")
            english.append("plus")
            chinese.append("加")
        elif charge := part["charge"]:
            shown.append(charge)
            word, wide = _CHARGES[charge[-1]]
            english.append(f"{charge[:-1]} {word}".strip())
            chinese.append(f"{charge[:-1]}{wide}")
        elif part["state"]:
            shown.append(text)
            word, wide = _STATES[text]
            english.append(word)
            chinese.append(wide)
        else:
            shown.append(text)
            if text.isalnum():
                english.append(" ".join(text) if part["element"] else text)
                chinese.append(text)
    return Words("".join(shown), " ".join(english), "".join(chinese))
