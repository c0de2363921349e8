"""Consent: which words of a user mean yes, and which mean no.

An utterance is a yes only when every part of it agrees or is politeness: "yes, but …" and "yes and
…" are not. Anything that is not a yes is no consent; :func:`is_no` only serves a polite answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from vixio.core.whole_phrases import WholePhrases


@dataclass(frozen=True, slots=True)
class Words:
    """``yes`` and ``no`` phrases, and ``fill``: what may stand between them."""

    yes: tuple[str, ...]
    no: tuple[str, ...]
    fill: tuple[str, ...]


CONSENT: Mapping[str, Words] = {
    "en": Words(
        yes=(
            *("yes", "yeah", "yep", "yup", "sure", "ok", "okay", "right", "correct", "exactly"),
            *("of course", "certainly", "definitely", "absolutely", "affirmative", "indeed"),
            *("go ahead", "do it", "do that", "please do", "go for it", "that's right"),
            *("that is right", "i do", "i am sure", "i'm sure", "i agree", "i confirm", "confirm"),
            *("confirmed", "you may", "sounds good", "make it so"),
        ),
        no=(
            *("no", "nope", "nah", "never", "no way", "don't", "do not", "don't do it", "stop"),
            *("do not do it", "don't do that", "cancel", "cancel it", "cancel that", "rather not"),
            *("never mind", "forget it", "leave it", "better not", "not now", "i do not"),
            *("i don't", "wait", "hold on"),
        ),
        fill=("please", "then", "now", "thanks", "thank you", "well", "oh", "um", "uh"),
    ),
    "zh": Words(
        yes=(
            *("是", "是的", "对", "对的", "好", "好的", "行", "可以", "没问题", "当然", "确定"),
            *("确认", "同意", "我确定", "我确认", "我同意", "没错", "嗯", "要", "当然可以"),
            *("我要", "好啊", "去做吧", "执行", "就这样"),
        ),
        no=(
            *("不", "不是", "不对", "不要", "不行", "不可以", "不用", "不用了", "不了", "别"),
            *("算了", "取消", "没有", "不确定", "不同意", "别做", "停", "等等", "等一下", "不好"),
        ),
        fill=("请", "吧", "啊", "呀", "嘛", "了", "的", "呢", "谢谢", "谢谢你", "那", "那就", "哦"),
    ),
    "de": Words(
        yes=(
            *("ja", "jawohl", "jo", "jap", "klar", "na klar", "sicher", "gern", "gerne", "genau"),
            *("richtig", "stimmt", "natürlich", "okay", "ok", "in ordnung", "einverstanden"),
            *("mach das", "tu das", "mach es", "ich bin sicher", "auf jeden fall", "bestätigt"),
        ),
        no=(
            *("nein", "nee", "nö", "auf keinen fall", "niemals", "lieber nicht", "nicht", "stopp"),
            *("lass es", "lass das", "abbrechen", "halt", "warte", "doch nicht", "bloß nicht"),
        ),
        fill=("bitte", "danke", "dann", "doch", "also", "mal", "na", "gut", "jetzt", "äh", "oh"),
    ),
    "es": Words(
        yes=(
            *("sí", "si", "claro", "claro que sí", "vale", "ok", "de acuerdo", "por supuesto"),
            *("correcto", "exacto", "hazlo", "hágalo", "adelante", "seguro", "estoy seguro"),
            *("estoy segura", "desde luego", "confirmo", "está bien"),
        ),
        no=(
            *("no", "nunca", "jamás", "mejor no", "de ninguna manera", "para", "espera", "déjalo"),
            *("cancela", "cancélalo", "no lo hagas", "no lo haga", "ahora no"),
        ),
        fill=("por favor", "gracias", "pues", "bueno", "entonces", "ahora", "ya", "eh", "ah"),
    ),
    "fr": Words(
        yes=(
            *("oui", "ouais", "si", "d'accord", "ok", "bien sûr", "certainement", "tout à fait"),
            *("exact", "exactement", "vas y", "allez y", "fais le", "faites le", "je confirme"),
            *("j'en suis sûr", "j'en suis sûre", "absolument", "volontiers"),
        ),
        no=(
            *("non", "jamais", "surtout pas", "pas du tout", "arrête", "arrêtez", "annule"),
            *("annulez", "attends", "attendez", "laisse tomber", "ne le fais pas"),
            *("ne le faites pas", "pas maintenant"),
        ),
        fill=(
            *("s'il te plaît", "s'il vous plaît", "merci", "alors", "bon", "ben", "euh"),
            "maintenant",
        ),
    ),
    "ja": Words(  # without 大丈夫 and いいです, which mean both
        yes=(
            *("はい", "ええ", "うん", "いいよ", "いいですよ", "オーケー", "もちろん", "そうです"),
            *("その通り", "その通りです", "お願い", "お願いします", "やって", "やってください"),
            *("実行して", "実行してください"),
        ),
        no=(
            *("いいえ", "いや", "ううん", "だめ", "ダメ", "駄目", "やめて", "やめてください"),
            *("違う", "違います", "しないで", "しないでください", "キャンセル", "結構です"),
            *("やめる", "待って"),
        ),
        fill=("じゃあ", "では", "ありがとう", "どうぞ", "あの", "ああ"),
    ),
}
"""Language (the first part of BCP 47) → its words."""


def is_yes(text: str) -> bool:
    """Return whether ``text`` agrees, in any of the languages, and says nothing else."""
    return any(text in _phrases(code, "yes") for code in CONSENT)


def is_no(text: str) -> bool:
    """Return whether ``text`` refuses and says nothing else."""
    return any(text in _phrases(code, "no") for code in CONSENT)


@lru_cache(maxsize=2 * len(CONSENT))
def _phrases(code: str, answer: str) -> WholePhrases:
    words = CONSENT[code]
    return WholePhrases(words.yes if answer == "yes" else words.no, words.fill, code)
