"""What users say over the assistant's speech that is no turn: that they listen, or that it stop."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Final

from vixio.core.language_tags import primary
from vixio.core.whole_phrases import WholePhrases
from vixio.core.wordlists import word_list


class Remark(Enum):
    """An utterance over a speech that wants no answer."""

    LISTENS = "the user only shows that they listen"
    STOP = "the speech is to stop"


LISTENING: Final[Mapping[str, tuple[str, ...]]] = {
    "en": ("mhm", "mm hmm", "mm", "hmm", "hm", "uh huh", "aha", "ah", "oh", "huh", "wow", "i see"),
    "zh": ("嗯", "嗯嗯", "嗯哼", "哦", "噢", "喔", "啊", "哇", "呃", "唔", "这样啊", "原来如此"),
    "de": ("mhm", "hm", "hmm", "aha", "ah", "oh", "ach so", "achso", "soso", "ach ja"),
    "fr": ("mhm", "hm", "hmm", "ah", "oh", "ah bon", "euh", "ah oui"),
    "es": ("mhm", "hm", "hmm", "ajá", "ah", "oh", "ah ya", "anda"),
    "it": ("mhm", "hm", "hmm", "ah", "oh", "ah ecco", "eh già"),
    "pt": ("mhm", "hm", "hmm", "aham", "ahã", "ah", "oh", "ah é"),
    "ja": ("へえ", "へー", "ふーん", "ほう", "なるほど", "ああ", "あー"),
    "ko": ("음", "아", "오", "흠", "아하", "그렇구나", "그렇군요"),
    "ru": ("угу", "мм", "ага", "хм", "ах", "ох", "ого", "вот как", "понятно"),
}
"""None that may answer a question of the assistant: not "yes", "okay", "好", "ja"."""

STOPPING: Final[Mapping[str, tuple[str, ...]]] = {
    "en": (
        *("stop", "stop it", "stop that", "stop talking", "stop speaking", "be quiet", "quiet"),
        *("silence", "shut up", "enough", "that's enough", "hush", "stop please"),
    ),
    "zh": (
        *("停", "停停", "停下", "停下来", "停止", "停一下", "别说了", "不要说了", "别讲了", "闭嘴"),
        *("安静", "够了", "住口"),
    ),
    "de": (
        *("stopp", "stop", "halt", "hör auf", "sei still", "ruhe", "still", "schluss"),
        *("das reicht", "es reicht", "genug"),
    ),
    "fr": ("stop", "arrête", "arrêtez", "tais toi", "tais-toi", "silence", "ça suffit", "assez"),
    "es": ("para", "stop", "alto", "basta", "cállate", "silencio", "detente", "ya basta"),
    "it": ("stop", "fermati", "basta", "zitto", "zitta", "silenzio", "smettila", "ferma"),
    "pt": ("para", "pare", "stop", "chega", "silêncio", "cala a boca", "cale-se", "já chega"),
    "ja": (
        "止めて",
        "やめて",
        "ストップ",
        "静かに",
        "静かにして",
        "黙って",
        "止まって",
        "もういい",
    ),
    "ko": ("그만", "그만해", "그만해요", "멈춰", "멈춰요", "조용히", "조용히 해", "스톱", "됐어"),
    "ru": ("стоп", "хватит", "замолчи", "тихо", "остановись", "достаточно", "молчи", "прекрати"),
}


@lru_cache(64)
def _phrases(language: str) -> tuple[WholePhrases, WholePhrases]:
    code = primary(language)
    fill = word_list("exits").get(code, {}).get("fill", ())
    return (
        WholePhrases(LISTENING.get(code, ()), (), language),
        WholePhrases(STOPPING.get(code, ()), fill, language),
    )


def remark(text: str, language: str) -> Remark | None:
    """Return what ``text`` is if nothing but a remark, None if it is a turn of the user.

    ``language``: BCP 47; others than those of the tables have no remarks.
    """
    listening, stopping = _phrases(language)
    if text in stopping:
        return Remark.STOP
    return Remark.LISTENS if text in listening else None
