"""What is said when a configuration is tried out, in the languages that devices are sold in."""

from __future__ import annotations

_SENTENCES = {
    "de": "Bitte schalte die Lampe ein.",
    "en": "Please turn on the lamp.",
    "es": "Por favor, enciende la lámpara.",
    "fr": "Allume la lampe, s'il te plaît.",
    "it": "Per favore, accendi la lampada.",
    "ja": "ランプをつけてください。",
    "ko": "램프를 켜 주세요.",
    "pt": "Por favor, acende a lâmpada.",
    "ru": "Пожалуйста, включи лампу.",
    "zh": "请把灯打开。",
}
"""Known to the phrase book where there is one, so that a closed grammar has it."""

_GREETINGS = {
    "de": "Hallo!",
    "en": "Hello!",
    "es": "¡Hola!",
    "fr": "Bonjour !",
    "it": "Ciao!",
    "ja": "こんにちは。",
    "ko": "안녕하세요.",
    "pt": "Olá!",
    "ru": "Привет!",
    "zh": "你好！",
}


def sentence(language: str) -> str:
    """Return what the voice says and the recogniser should hear; English where none is known."""
    return _SENTENCES.get(_base(language), _SENTENCES["en"])


def greeting(language: str) -> str:
    """Return what the model is asked: it costs little, and the phrase book answers it too."""
    return _GREETINGS.get(_base(language), _GREETINGS["en"])


def _base(language: str) -> str:
    return language.lower().partition("-")[0]
