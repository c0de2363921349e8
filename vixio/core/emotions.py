"""The faces that the firmware can show, and the emoji by which a model asks for them."""

from __future__ import annotations

from typing import Final

EMOTIONS: Final[dict[str, str]] = {
    "neutral": "😶",
    "happy": "🙂",
    "laughing": "😆",
    "funny": "😂",
    "sad": "😔",
    "angry": "😠",
    "crying": "😭",
    "loving": "😍",
    "embarrassed": "😳",
    "surprised": "😲",
    "shocked": "😱",
    "thinking": "🤔",
    "winking": "😉",
    "cool": "😎",
    "relaxed": "😌",
    "delicious": "🤤",
    "kissy": "😘",
    "confident": "😏",
    "sleepy": "😴",
    "silly": "😜",
    "confused": "🙄",
}
"""The 21 names that the firmware knows, each with the emoji sent beside it."""

_MORE: Final[dict[str, str]] = {
    "neutral": "😐 😑 🫥 🤖 🙃",
    "happy": "😀 😃 😄 😊 ☺ 😺 😸 🎉 🥳 👋 👍 👏 🌞 ☀ ✨ 🌈 🙌 💪",
    "laughing": "😁 😹 🤗",
    "funny": "🤣 🤡",
    "sad": "😞 😟 🙁 ☹ 😕 😣 😖 😥 😓 😿 💔 🥺 😩 😫 🌧",
    "angry": "😡 🤬 😤 👿 💢 😾 👎",
    "crying": "😢 🥲",
    "loving": "🥰 😻 ❤ 💕 💖 💗 💓 💞 💘 💝 🧡 💛 💚 💙 💜 🖤 🤍 🤎 🩷 🫶 🤩 🌹",
    "embarrassed": "🫣 🙈 😅 😬 🙏",
    "surprised": "😮 😯 🙀 ❗ 🤭",
    "shocked": "😨 😰 😧 😦 🤯 😵 ⚠ 🚨",
    "thinking": "🧐 💭 💡 🔍 🔎 🤓 📖",
    "winking": "😼 😈",
    "cool": "🤠 🔥 🚀 🎸",
    "relaxed": "😇 😮‍💨 🧘 ☕ 🍵",
    "delicious": "😋 🍰 🎂 🍕 🍔 🍜 🍦 🍎",
    "kissy": "😗 😙 😚 😽 💋 💏",
    "confident": "🫡 🏆 ✅ 👌 ✊ 🤝",
    "sleepy": "😪 🥱 💤 🌙 🛌 🌛",
    "silly": "😝 😛 🤪 👻 🙉 🙊",
    "confused": "😵‍💫 🤨 ❓ 🤷 🫤 🤦",
}


# The same face is written with and without a variation selector, and in five skin tones.
_MODIFIERS: Final = dict.fromkeys([0xFE0E, 0xFE0F, *range(0x1F3FB, 0x1F400)])


def _plain(emoji: str) -> str:
    return emoji.translate(_MODIFIERS)


_NAMES: Final[dict[str, str]] = {
    _plain(emoji): name for name, row in _MORE.items() for emoji in row.split()
} | {emoji: name for name, emoji in EMOTIONS.items()}


def emotion_of(emoji: str) -> str | None:
    """Return the emotion that one emoji (a whole cluster: ZWJ, skin tone, selector) stands for.

    A joined cluster that is not known itself goes by its first part. None where nothing is known.
    """
    plain = _plain(emoji)
    return _NAMES.get(plain) or _NAMES.get(plain.split("\u200d")[0])
