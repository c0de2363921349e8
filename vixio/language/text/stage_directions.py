"""Stage directions and their faces: ``*laughs*``, ``(smiles warmly)``, ``（轻声说）``.

A direction is known by its words, all of which stand in a table: what is only emphasised, or put in
brackets, stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from vixio.core.emotions import EMOTIONS

LONGEST: Final = 40
"""Characters of the longest direction."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The first word says what is done; a row begins with the face for it, "-" for none.
_ENGLISH: Final = """
laughing: laugh laughs laughing laughed chuckle chuckles chuckling giggle giggles giggling snicker
    snickers snickering cackles
happy: smile smiles smiling grin grins grinning beam beams beaming claps clapping cheers cheering
    bounces bouncing waves waving dances dancing twirls
sad: sigh sighs sighing sniffle sniffles sniffling frown frowns frowning pouts pouting
crying: cry cries crying sob sobs sobbing weeps weeping
surprised: gasp gasps gasping
winking: wink winks winking
thinking: ponder ponders pondering thinks thinking hums humming
embarrassed: blush blushes blushing
sleepy: yawn yawns yawning
confused: shrug shrugs shrugging
angry: growls growling scowls scowling
loving: hug hugs hugging
kissy: kiss kisses kissing
-: nod nods nodding pause pauses pausing whisper whispers whispering cough coughs coughing clears
    clearing leans leaning tilts tilting scratches scratching adjusts adjusting takes taking bows
    bowing shakes shaking looks looking blinks blinking winces speaks speaking softly inhales
    exhales breathes singing sings gestures gesturing rolls rolling strokes stretches stretching
"""
_AROUND: Final = _words(
    """
    softly gently warmly quietly brightly happily sadly nervously excitedly playfully slightly
    cheerfully sheepishly knowingly thoughtfully dramatically loudly slowly briefly lightly
    kindly awkwardly proudly mischievously enthusiastically reassuringly apologetically
    sympathetically heavily deeply again back out a an the at to in with and up forward closer
    little bit big deep soft warm gentle small happy sad you me him her his their your my head
    eyes throat breath chin voice hand hands shoulders arms joy delight excitement thought
    moment for around thoughtful
    """
)
_MOODS: Final = _words("excited whispered sarcastic cheerful serious dramatic playful warm")
_CHINESE: Final = """
laughing: 大笑 哈哈大笑 笑出声 偷笑 坏笑 捧腹大笑
happy: 笑 微笑 微微一笑 笑了笑 笑眯眯 笑嘻嘻 开心 高兴 愉快 兴奋 欢快 鼓掌 拍手 挥手 招手 蹦跳
sad: 叹气 叹息 叹了口气 难过 伤心 悲伤 失落 委屈 撇嘴
crying: 哭 哭泣 流泪 抽泣 大哭
surprised: 惊讶 惊喜 吃惊 惊呼
shocked: 震惊
winking: 眨眼 眨眨眼 眨了眨眼
thinking: 思考 沉思 想了想 思考中 托腮
embarrassed: 害羞 脸红 不好意思 尴尬 挠头 挠挠头
sleepy: 打哈欠 困
confused: 耸肩 疑惑 困惑
angry: 生气 愤怒 皱眉 跺脚
loving: 拥抱 抱抱 比心
kissy: 亲亲 飞吻
silly: 吐舌头 吐舌 俏皮 调皮
-: 说 说道 低声说 小声说 悄悄说 低语 点头 点点头 摇头 摇摇头 停顿 沉默 咳嗽 清嗓子 清了清嗓子
    深吸一口气 歪头 歪着头 轻声 小声 低声 温柔 语气温柔 语气轻快 旁白 唱歌 哼歌 平静 认真
"""
_CHINESE_AROUND: Final = (
    "轻轻 轻声 小声 低声 大声 悄悄 温柔 温和 开心 高兴 兴奋 害羞 调皮 俏皮 缓缓 微微 忍不住 "
    "无奈 认真 神秘 得意 撒娇 地 的 着 了 一下 语气 声音 一声 道 并 又 很"
)


def _faces(rows: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for word in rows.split():
        if word.endswith(":"):
            name = word[:-1]
        else:
            found[word] = EMOTIONS.get(name, "")
    return found


_FACES: Final = _faces(_ENGLISH)
_CHINESE_FACES: Final = _faces(_CHINESE)
_WORD: Final = re.compile(r"[A-Za-z]+")
_LIMITS: Final = re.compile(r"[, ]+")


def _longest_first(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_CHINESE_CORE: Final = re.compile(_longest_first(_CHINESE_FACES))
_CHINESE_FORM: Final = re.compile(
    f"(?:{_longest_first([*_CHINESE_FACES, *_CHINESE_AROUND.split()])})+"
)


def may_begin(text: str) -> bool:
    """Return whether a direction may begin with ``text``, which may be a part of a word."""
    first = text[:1]
    if not first.isascii():
        return first.isalpha()
    word = _WORD.match(text)
    if not word:
        return False
    found = word[0].lower()
    known = (*_FACES, *_AROUND, *_MOODS)
    return found in known if word.end() < len(text) else any(w.startswith(found) for w in known)


def face_of(content: str) -> str | None:
    """Return the emoji of a direction, "" if it has none; None: it is no direction."""
    if content[:1].isascii():
        words = _LIMITS.split(content.strip(" .!,").lower())
        named = [word for word in words if word in _FACES]
        if len(words) == 1 and words[0] in _MOODS:
            return EMOTIONS.get(words[0], "")
        if not named or any(word not in _FACES and word not in _AROUND for word in words):
            return None
        return next((face for word in named if (face := _FACES[word])), "")
    if not _CHINESE_FORM.fullmatch(content):
        return None
    cores = _CHINESE_CORE.findall(content)
    return next((face for word in cores if (face := _CHINESE_FACES[word])), "") if cores else None
