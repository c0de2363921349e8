"""Wake words: tell a device's own ``detect`` from text that a user typed."""

from __future__ import annotations

from collections.abc import Iterable

from vixio.core.whole_phrases import bare

DEFAULT_WAKE_WORDS: tuple[str, ...] = (
    # What the firmware's wake word models (esp-sr WakeNet) report, and their usual spellings.
    "你好小智",
    "小智",
    "小智小智",
    "小智同学",
    "嗨小智",
    "嗨乐鑫",
    "Hi 乐鑫",
    "Hi ESP",
    "Hey ESP",
    "Alexa",
    "Jarvis",
    "Hey Jarvis",
    "Computer",
    "Hey Willow",
    "Sophia",
    "Mycroft",
    "Hi Joy",
    "Hi Jason",
    "Hey Wanda",
    "Hi Lily",
    "Hi Lili",
    "Hi Telly",
    "Hey Printer",
    "Hey Ily",
    "Astrolabe",
    "Blue Chip",
    "Hi M Five",
    "Hi Wall E",
    "你好小鑫",
    "你好小星",
    "Hi 小星",
    "小美同学",
    "小爱同学",
    "小龙小龙",
    "小鸭小鸭",
    "小酥肉",
    "喵喵同学",
    "Hi 喵喵",
    "你好喵伴",
    "你好东东",
    "璃奈板",
    # Ours.
    "Vixio",
    "Hey Vixio",
    "Hi Vixio",
    "Hello Vixio",
)


class WakeWords:
    """A set of wake words that ignores case, spaces and punctuation."""

    def __init__(self, words: Iterable[str] = DEFAULT_WAKE_WORDS) -> None:
        self._words = frozenset(filter(None, map(bare, words)))

    def __contains__(self, text: str) -> bool:
        """Whether the whole of ``text`` is a wake word."""
        return bare(text) in self._words
