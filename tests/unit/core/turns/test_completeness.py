"""What the words of an utterance show about whether more is to come."""

from __future__ import annotations

import pytest

from vixio.core.chunk import Completeness
from vixio.core.turns.completeness import completeness
from vixio_bench.speech_corpus import load_corpus

BEGUN = {
    "en": (
        *("remind me to", "turn on the lamp and", "what is the weather in", "I want to know if"),
        *("play something by the", "send a message to my", "set a timer for", "um", "so um"),
        *(
            "call",
            "translate",
            "turn on",
            "switch off",
            "wake me up",
            "remind me tomorrow",
            "how do I get",
            "how long",
        ),
        *("tell me", "I would like to know", "can you", "who wrote", "my phone number is"),
        *("my phone number is five five", "the code is 4 2", "set a timer for ten", "call 555"),
        *("add two", "Set the timer.", "Please set the volume.", "add milk, eggs,", "it was..."),
        *("what is", "I think that the", "because", "turn it off when", "do you know"),
        *("put it between the", "I'd like to", "Could you please"),
    ),
    "zh": (
        *("帮我", "提醒我", "播放", "我想知道", "把", "打开", "设置一个闹钟", "今天天气怎么样然后"),
        *("把灯打开还有", "因为", "我的电话是一三八", "打电话给", "给妈妈打电话和", "嗯", "请问"),
        *("音量", "请把音量调到", "明天早上", "如果", "翻译一下", "买两", "我喜欢苹果和"),
    ),
    "de": (
        "stell einen Wecker",
        "erinnere mich",
        "mach das Licht an und",
        "ich möchte",
        "wie lange",
    ),
    "fr": ("rappelle-moi", "allume la lampe et", "je voudrais", "mets le", "combien de temps"),
    "es": ("recuérdame", "enciende la luz y", "quiero saber", "pon una", "cuánto tiempo"),
    "it": ("ricordami", "accendi la luce e", "vorrei", "metti il", "quanto tempo"),
    "pt": ("me lembre", "liga a luz e", "eu gostaria de", "põe o", "quanto tempo"),
    "ja": ("電気を", "それから", "明日の朝七時に", "えっと"),
    "ko": ("불을", "그리고", "내일 아침부터"),
    "ru": ("напомни мне", "включи свет и", "я хочу узнать", "поставь таймер", "сколько"),
}

WHOLE = {
    "en": (
        *("where are you from", "what is that for", "what time it is", "tell me what it's about"),
        *("turn it on", "turn the lamp off please", "tell her", "I don't like this", "come in"),
        *("set the volume to thirty", "what is seven times eight", "volume forty", "yes I do"),
        *("wake me at half past six", "my number is 555 123 4567", "hello", "stop", "Goodbye."),
        *("that is all you have", "who he was", "play some music", "see you then", "why not"),
    ),
    "zh": ("现在", "音量调到三十", "星期一", "第一", "好的", "谢谢你", "停", "我要这个", "是的"),
    "de": (
        "mach das Licht an",
        "wie spät ist es",
        "Lautstärke auf dreißig",
        "was ist das",
        "danke",
    ),
    "fr": ("quelle heure est-il", "volume à trente", "merci", "éteins la lampe"),
    "es": ("para", "qué hora es", "volumen a treinta", "sí", "apaga la luz"),
    "it": ("che ore sono", "volume a trenta", "grazie", "spegni la luce"),
    "pt": ("para", "que horas são", "obrigado", "desliga a luz"),
    "ja": ("今何時ですか", "ありがとう", "電気をつけて", "なに"),
    "ko": ("지금 몇 시야", "불 켜줘", "고마워"),
    "ru": ("который час", "включи свет", "спасибо", "что это"),
}


@pytest.mark.parametrize("language", BEGUN)
def test_a_beginning_is_known_by_its_end(language: str) -> None:
    missed = [each for each in BEGUN[language] if completeness(each, language) is None]
    assert not missed


@pytest.mark.parametrize("language", WHOLE)
def test_nothing_is_said_of_what_may_be_whole(language: str) -> None:
    assert not [each for each in WHOLE[language] if completeness(each, language)]


def test_hardly_a_sentence_of_the_corpora_is_taken_for_a_beginning() -> None:
    said = [
        (text, "en")
        for corpus in map(load_corpus, ("tuning", "held-out"))
        for text in (
            *(text for text, _ in (*corpus.commands, *corpus.final)),
            *corpus.free,
            *corpus.not_final,
        )
    ]
    said += [(text, "zh") for text in load_corpus("chinese").free]
    taken = [text for text, language in said if completeness(text, language)]
    assert len(said) > 200
    # The message itself is missing; the others are words that a tuning set has for their sound.
    assert set(taken) <= {"send a message to michael", "could i", "good nine"}


def test_the_script_decides_about_the_language() -> None:
    assert completeness("提醒我", "en") is Completeness.INCOMPLETE
    assert completeness("電気をつけてそれから", "en") is Completeness.INCOMPLETE
    assert completeness("turn on the", "zh") is Completeness.INCOMPLETE
    assert completeness("turn on the", "xx") is Completeness.INCOMPLETE
    assert completeness("turn on the", "") is Completeness.INCOMPLETE


ODD = ("", " ", "…", "。", "'", "--", "\u0300", "a" * 4_000, "1 " * 2_000)
REPEATED = ("麻烦你" * 1_000 + "好吗", "please " * 500 + "x", "can you " * 500 + "x", "给" * 4_000)
"""Texts for which an expression with two ways to read them would never come to an end."""


@pytest.mark.parametrize("text", [*ODD, *REPEATED])
def test_any_text_has_an_answer(text: str) -> None:
    for language in ("", "en", "zh", "xx-YY"):
        completeness(text, language)
