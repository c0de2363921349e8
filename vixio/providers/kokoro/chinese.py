"""Mandarin in Kokoro's symbols.

Words are found by jieba's dictionary and read by pypinyin; the symbols of a syllable are those of
misaki 0.9 (https://github.com/hexgrad/misaki, Apache-2.0), with whose phonemes Kokoro was trained.
It took them from https://github.com/stefantaubert/pinyin-to-ipa (MIT). Tones are written as the
dictionary has them: what changes beside another tone, the network has learnt.
"""

from __future__ import annotations

import re
from typing import Any, Final

from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install

HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")

_INITIALS: Final = {
    **{each: each for each in "fmnls"},
    "b": "p",
    "p": "pʰ",
    "d": "t",
    "t": "tʰ",
    "g": "k",
    "k": "kʰ",
    "h": "x",
    "j": "ʨ",
    "q": "ʨʰ",
    "x": "ɕ",
    "z": "ʦ",
    "c": "ʦʰ",
    "r": "ɻ",
    "zh": "\uab67",
    "ch": "\uab67ʰ",
    "sh": "ʂ",
}
# A 0 stands for the tone.
_FINALS: Final = {
    "a": "a0",
    "ai": "ai0",
    "an": "a0n",
    "ang": "a0ŋ",
    "ao": "au0",
    "e": "ɤ0",
    "ei": "ei0",
    "en": "ə0n",
    "eng": "ə0ŋ",
    "er": "ɚ0",
    "ê": "ɛ0",
    "i": "i0",
    "ia": "ja0",
    "ian": "jɛ0n",
    "iang": "ja0ŋ",
    "iao": "jau0",
    "ie": "je0",
    "in": "i0n",
    "ing": "i0ŋ",
    "io": "jɔ0",
    "iong": "jʊ0ŋ",
    "iou": "jou0",
    "o": "wo0",
    "ong": "ʊ0ŋ",
    "ou": "ou0",
    "u": "u0",
    "ua": "wa0",
    "uai": "wai0",
    "uan": "wa0n",
    "uang": "wa0ŋ",
    "uei": "wei0",
    "uen": "wə0n",
    "ueng": "wə0ŋ",
    "uo": "wo0",
    "v": "y0",
    "van": "ɥɛ0n",
    "ve": "ɥe0",
    "vn": "y0n",
    "m": "m0",
    "n": "n0",
    "ng": "ŋ0",
    "hm": "hm0",
    "hng": "hŋ0",
}
_BUZZED: Final = frozenset({"zh", "ch", "sh", "r", "z", "c", "s"})
"""Initials after which i is no i."""
_TONES: Final = {"1": "→", "2": "↗", "3": "↓", "4": "↘", "5": ""}


def syllable(initial: str, final: str, whole: str = "") -> str:
    """Return the symbols of a syllable in pypinyin's strict parts, such as zh and ong1.

    ``whole``: as it is written, for interjections such as ng2, which have no parts. Empty for a
    syllable that Mandarin does not have.
    """
    if not final.rstrip("12345") or (whole[:1] == "h" and "m" in whole):
        initial, final = "", whole
    vowels, tone = (final[:-1], final[-1]) if final[-1:].isdigit() else (final, "5")
    if initial in _BUZZED and vowels == "i":
        symbols = "ɨ0"
    elif not initial and vowels == "o" and whole[:1] != "y":
        symbols = "ɔ0"
    else:
        symbols = _FINALS.get(vowels, "")
    return _INITIALS.get(initial, "") + symbols.replace("0", _TONES.get(tone, ""))


class Mandarin:
    """The words and their readings. Loading takes 0.3 s and 60 MB."""

    def __init__(self, provider: str) -> None:
        """``provider``: for errors. Raises ProviderUnavailable without the extra ``kokoro``."""
        try:
            import pypinyin
            import rjieba
        except ImportError as error:
            raise ProviderUnavailable(
                provider, f"{error.name} is not installed: {how_to_install('kokoro')}"
            ) from error
        self._pypinyin: Any = pypinyin
        self._cut: Any = rjieba.cut

    def phonemes(self, han: str) -> str:
        """Return the symbols of a run of Chinese characters, with a space between words."""
        return " ".join(filter(None, (self._word(word) for word in self._cut(han))))

    def _word(self, word: str) -> str:
        style, read = self._pypinyin.Style, self._pypinyin.lazy_pinyin
        initials = read(word, style=style.INITIALS, strict=True, errors="ignore")
        finals = read(
            word,
            style=style.FINALS_TONE3,
            strict=True,
            neutral_tone_with_five=True,
            errors="ignore",
        )
        whole = read(word, style=style.TONE3, neutral_tone_with_five=True, errors="ignore")
        if not len(initials) == len(finals) == len(whole):  # a rare character was dropped
            return ""
        return "".join(map(syllable, initials, finals, whole))
