"""Faces made of characters: ``:-)``, ``^_^``, ``(｡◕‿◕｡)``, ``¯\\_(ツ)_/¯``; as emoji.

"" stands for a face that has no emotion of its own.
"""

from __future__ import annotations

import re
from typing import Final

from vixio.core.emotions import EMOTIONS
from vixio.language.text.characters import BREAK, is_wide
from vixio.language.text.constructs import NONE, Reading
from vixio.language.text.scan import Scan

_SIGNS: Final = {
    "happy": ":) :-) =) :] ^_^ ^-^ ^^ ^.^ ^o^ (^: ^w^ UwU uwu OwO owo",
    "laughing": ":D :-D =D :'D",
    "funny": "XD xD",
    "sad": ":( :-( =( :[ ._. orz Orz ORZ OTZ",
    "crying": ":'( T_T T.T T-T QAQ QwQ TAT ;_; Q_Q",
    "winking": ";) ;-) ;D",
    "silly": ":P :-P :p :-p =P xP XP",
    "surprised": ":O :-O :o :-o o_O O_o O_O o_o 0_0",
    "kissy": ":* :-*",
    "loving": "<3",
    "angry": ">:( >_< >.< >:-(",
    "confused": ":/ :-/ :S @_@ -_-|||",
    "neutral": ":| :-| -_- -.- =_= -_-'",
    "cool": "8-) B-)",
}
_TABLE: Final = {
    sign: EMOTIONS[name] for name, row in _SIGNS.items() for sign in row.split() if sign != "<3"
}
_LONGEST: Final = max(map(len, _TABLE))
_WORDS: Final = frozenset(sign for sign in _TABLE if sign[0].isalpha() and "_" not in sign)
STARTS: Final = "".join(sorted({sign[0] for sign in _TABLE} - {"0", "8", "-"}))
"""First characters of the signs that are looked for."""

_EYES: Final = "^°oO@><≧≦◕‿◉●○◎・･•ಠಥ╥TтQ;￣¯-=·.˘ˊˋ´`'⊙⌒◡▀■□xX+≖눈ᵔᴗ✧⚆☉˙口★☆♥益ㅠㅜ﹏∩≡ˇᗒᗕ͡~ツ⁰╯ºσ"
_MOUTHS: Final = "_ωдДдο▽∀◡‿ᴥ﹏□口ー︿ε3皿人▿∇ᴗ◇ワヮᗜ益.o^ヘ﹃〜︵͜ʖ⌓︶ㅂㅁㅅ~oOvVwW‸ᆺツ"
_DECORATION: Final = "*|#;；。｡ﾟ゜〃/╯╰ノﾉヽづっ✿❁=≡\\ 　,'`ง•̀•́ง☞☜つシ・ﾟ✧~～!"
_BODY: Final = re.compile(
    f"[{re.escape(_DECORATION)}]*[{re.escape(_EYES)}]+[{re.escape(_DECORATION)}]*"
    f"[{re.escape(_MOUTHS)}]+[{re.escape(_DECORATION)}]*[{re.escape(_EYES)}]+"
    f"[{re.escape(_DECORATION)}]*"
)
_WHOLE: Final = frozenset({"ツ", "￣ー￣", "´▽`", "*´∀`*", "・∀・"})
_ARMS: Final = "ヽヾ╰╯٩ლᕕᕦづっノ\\＼┗ԅ໒Σo"
_AFTER: Final = re.compile(r"[╯ノﾉ╭╮و✧ง☆づっ~～♪ლᕗᕤゞブ┛シ/／\\＼︵ ┻━┬─彡凸☞☜۶♡❤oOb]*")
_TABLE_AFTER: Final = 14
_INSIDE: Final = 22
_CLASSES: Final = (
    ("crying", "TтQಥ╥;ㅠㅜ"),
    ("angry", "益╯皿ಠ"),
    ("surprised", "Д⊙дロ"),
    ("happy", "^◕▽∀◡‿ω≧∇ᴗᵔ´⌒"),
    ("loving", "♥"),
)
_SHRUG: Final = re.compile(r"¯\\?\\?_\(ツ\)_/¯")


def read_emoticon(scan: Scan, before: str) -> Reading | None:
    """Read a sign such as ``:-)`` that stands alone; its text: an emoji."""
    if before and not (before[-1] in f" {BREAK}" or is_wide(before[-1]) or before[-1] in "!?.~…"):
        return NONE
    text, at = scan.text, scan.at
    window = text[at : at + _LONGEST]
    for length in range(len(window), 1, -1):
        sign = window[:length]
        if sign not in _TABLE:
            continue
        if at + length == len(text) and not scan.final:
            return None
        following = text[at + length : at + length + 1]
        if sign in _WORDS and sign.lower() == "xd" and following == " ":
            return NONE  # the XD card
        if following and following not in " \n.!?,;~…*" and not is_wide(following):
            return NONE
        return Reading(at + length, _TABLE[sign])
    short = len(window) < _LONGEST and not scan.final and "\n" not in window
    return None if short and any(sign.startswith(window) for sign in _TABLE) else NONE


def read_kaomoji(scan: Scan) -> Reading | None:
    r"""Read a face in brackets, with arms: ``ヽ(^o^)ノ``, ``(╯°□°)╯︵ ┻━┻``, ``¯\_(ツ)_/¯``."""
    text, at = scan.text, scan.at
    if text[at] == "¯":
        return _shrug(scan)
    opening = at + (text[at] in _ARMS)
    if opening == len(text) and not scan.final:
        return None
    if text[opening : opening + 1] not in ("(", "（", "ʕ"):
        return NONE
    inside = opening + 1
    first = text[inside : inside + 2]
    latin = len(first) == 2 and first.isascii() and first.isalnum()
    if latin or ("\u4e00" <= first[:1] <= "\u9fff" and first[:1] not in "口益皿人"):
        return NONE  # words
    closing = "）" if text[opening] == "（" else ")"
    end = _closing(scan, inside, f"{closing})ʔ")
    if end is None:
        return None
    face = _face(text[inside:end].strip()) if end >= 0 else None
    if face is None:
        return NONE
    after = _AFTER.match(text, end + 1, end + 1 + _TABLE_AFTER)
    last = after.end() if after else end + 1
    if last == len(text) and last < end + 1 + _TABLE_AFTER and not scan.final:
        return None
    arms = text[end + 1 : last]
    if text[last : last + 1].isalnum() and text[last : last + 1].isascii() and arms[-1:].isalpha():
        arms = arms[: arms.rfind(" ") + 1]
    return Reading(end + 1 + len(arms.rstrip()), EMOTIONS["angry"] if "┻" in arms else face)


def _shrug(scan: Scan) -> Reading | None:
    text, at = scan.text, scan.at
    if len(text) < at + 12 and not scan.final and "\n" not in text[at:]:
        return None
    shrug = _SHRUG.match(text, at)
    return Reading(shrug.end(), EMOTIONS["confused"]) if shrug else NONE


def _closing(scan: Scan, start: int, marks: str) -> int | None:
    for place in range(start, min(len(scan.text), start + _INSIDE)):
        if scan.text[place] in marks:
            return place
        if scan.text[place] == "\n":
            return -1
    return None if len(scan.text) < start + _INSIDE and not scan.final else -1


def _face(content: str) -> str | None:
    if content not in _WHOLE:
        marks = set(content) - {" "}
        if len(marks) < 2 or not _BODY.fullmatch(content):
            return None
        dotted = "." in content and marks & set("-oOT")
        if content.isascii() and not dotted and not marks & set("^_<>;@"):
            return None
    for name, signs in _CLASSES:
        if any(sign in signs for sign in content):
            return EMOTIONS[name]
    return ""
