"""The face that a sentence's own words ask for: "congratulations", "让我想想"; English and Chinese.

A guess, for sentences without an emoji. It prefers no face to a wrong one: whole phrases only, none
behind a negation ("no need to be sorry", "不用抱歉"), and none of adjectives that describe a thing
as often as a mood ("funny", "sad").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_ENGLISH: Final[Mapping[str, str]] = {
    "happy": "good morning, good evening, welcome back, nice to meet you, "
    "congratulations, congrats, well done, good job, great job, hooray, yay, happy birthday, "
    "happy new year, merry christmas, good news, glad to hear, i'm glad, happy to hear, "
    "happy to help, my pleasure, you're welcome, you are welcome, that's great, that's wonderful, "
    "that's fantastic, how wonderful, how lovely",
    "laughing": "haha, hahaha, ha ha, ha ha ha, hehe, lol, hilarious",
    "sad": "sorry, i apologise, i apologize, my apologies, unfortunately, sadly, i'm afraid, "
    "what a pity, what a shame, bad news, my condolences",
    "thinking": "let me see, let me think, let me check, let me look, let's see, hmm, i wonder, "
    "one moment, just a moment, good question",
    "surprised": "wow, whoa, what a surprise, guess what",
    "shocked": "oh no, oh my god, oh my goodness, be careful, watch out",
    "loving": "i love you, so sweet of you, so kind of you",
    "embarrassed": "oops, whoops, my mistake, my bad",
    "silly": "silly me",
    "confused": "i don't understand, i didn't understand, i did not understand, i'm confused, "
    "i didn't catch that, i did not catch that",
    "relaxed": "don't worry, no worries, never mind, take a deep breath, take it easy",
    "sleepy": "good night, sweet dreams, sleep well",
    "delicious": "yummy, yum, delicious, enjoy your meal",
    "winking": "just kidding, only joking, just joking",
    "confident": "you can do it, you can do this, count on me, leave it to me",
    "cool": "that's cool, how cool, so cool",
    "": "sorry state, feel sorry for, never mind the",
}
_CHINESE: Final[Mapping[str, str]] = {
    "happy": "早上好 晚上好 欢迎回来 很高兴 真高兴 恭喜 恭喜你 祝贺 太好了 太棒了 真棒 "
    "干得好 做得好 好消息 很开心 真开心 生日快乐 新年快乐 节日快乐 歡迎回來 祝賀",
    "laughing": "哈哈 嘻嘻 嘿嘿",
    "funny": "太好笑了 真好笑 笑死我了 太逗了",
    "sad": "抱歉 对不起 對不起 遗憾 遺憾 可惜 坏消息 真不幸 节哀 很难过 真难过",
    "thinking": "让我想想 讓我想想 让我想一想 我想想 我想一想 让我看看 讓我看看 我看看 让我查 "
    "我查一下 稍等 等一下 好问题",
    "surprised": "哇 哇塞 没想到 沒想到 真的吗 你猜怎么着",
    "shocked": "我的天 天呐 糟糕 小心 当心 注意安全",
    "loving": "我爱你 我愛你 我也爱你 爱你哦 你真贴心",
    "embarrassed": "不好意思 哎呀 我搞错了 我弄错了",
    "confused": "没听懂 没听清 没听明白 沒聽懂 不太明白 我不明白",
    "relaxed": "别担心 別擔心 不用担心 没关系 沒關係 放轻松 深呼吸 放心吧",
    "sleepy": "晚安 做个好梦 好梦",
    "delicious": "真好吃 太好吃了 真香 美味 流口水",
    "winking": "开个玩笑 开玩笑的 逗你的 逗你玩",
    "confident": "包在我身上 交给我吧 你一定行 你可以的 加油",
    "cool": "太酷了 真酷 好酷",
    "angry": "气死我了 太过分了",
    "": "娃哈哈 小心翼翼 小心眼 我的天空 我的天气 加油站 等一下午 好梦想",
}
"""By emotion; under "": longer words that only contain one of the phrases."""


def _by_phrase(rows: Mapping[str, str], separator: str) -> dict[str, str]:
    return {phrase: name for name, row in rows.items() for phrase in row.split(separator)}


_SPACED: Final = _by_phrase(_ENGLISH, ", ")
_UNSPACED: Final = _by_phrase(_CHINESE, " ")


def _either(phrases: Mapping[str, str]) -> str:
    return "|".join(sorted(map(re.escape, phrases), key=len, reverse=True))


_ENGLISH_PHRASE: Final = re.compile(rf"\b(?:{_either(_SPACED)})(?![\w'-])")
_CHINESE_PHRASE: Final = re.compile(_either(_UNSPACED))
_WORD: Final = re.compile(r"[a-z][a-z']*")
_TELLING: Final = frozenset(max(reversed(phrase.split()), key=len) for phrase in _SPACED)
"""The longest word of each phrase. To look for these first takes a fifth of the time of the
expression, in a sentence without any."""
_NEGATED: Final = re.compile(
    r"(?:\b(?:not|no|never|nothing|without|cannot)|n't)(?: +[\w']+){0,3} +\Z"
    r"|(?:[不没沒無无勿甭]|(?<![特区分个])[别別])[\u4e00-\u9fff]{0,3}\Z"
)
_KANA: Final = re.compile("[\u3041-\u30ff]")


def emotion_of_words(sentence: str) -> str | None:
    """Return the emotion that the first phrase of ``sentence`` stands for; None: no phrase.

    ``sentence``: as shown, without emoji.
    """
    text = sentence.lower().replace("’", "'")
    if not text.isascii() and _CHINESE_PHRASE.search(text):
        # In Japanese the same characters are other words.
        return None if _KANA.search(text) else _first(_CHINESE_PHRASE, _UNSPACED, text)
    if _TELLING.isdisjoint(_WORD.findall(text)):
        return None
    return _first(_ENGLISH_PHRASE, _SPACED, text)


def _first(pattern: re.Pattern[str], emotions: Mapping[str, str], text: str) -> str | None:
    for found in pattern.finditer(text):
        start = found.start()
        if (name := emotions[found[0]]) and not _NEGATED.search(text, max(0, start - 40), start):
            return name
    return None
