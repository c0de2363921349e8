"""Which utterances end a conversation."""

from __future__ import annotations

from itertools import product

import pytest

from vixio.core.messages.catalogues import PACKAGED
from vixio.core.whole_phrases import MAX_CHARS, WholePhrases
from vixio.core.wordlists import exit_phrases, word_list
from vixio.language.phrasebook import LANGUAGES
from vixio.language.phrasebook.nodes import Alt, Node, Seq, Word
from vixio.language.phrasebook.stored import load_language

ENDING = {
    "en": (
        "Goodbye!",
        "ok, thank you, bye",
        "That’s all for today, thanks.",
        "good-bye",
        "BYE BYE",
    ),
    "zh": ("再见。", "好的，谢谢你，再见！", "再 见", "拜拜啦", "那就先拜拜"),
    "de": ("Tschüss!", "Danke, das war's für heute.", "okay auf Wiedersehen"),
    "fr": ("Au revoir !", "Merci beaucoup, à bientôt.", "Non merci, c'est tout."),
    "es": ("¡Adiós!", "Gracias, hasta luego.", "No, gracias, eso es todo."),
    "it": ("Arrivederci.", "Grazie mille, a presto!", "No grazie, è tutto."),
    "pt": ("Tchau!", "Obrigado, até logo.", "Não, obrigada, é só isso."),
    "ja": ("さようなら。", "ありがとう、じゃあまたね。", "おやすみなさい"),
    "ko": ("안녕히 계세요.", "고마워, 잘 가", "이제됐어요"),
    "ru": ("До свидания!", "Спасибо, пока.", "Это всё, спасибо."),
}
GOING_ON = {
    "en": (
        "say goodbye to Ann",
        "what does goodbye mean",
        "thank you",
        "that's all right",
        "no",
        "",
    ),
    "zh": ("跟妈妈说再见", "再见用英语怎么说", "谢谢", "没有了"),
    "de": ("wie sagt man auf Wiedersehen auf Englisch", "danke", "bis morgen früh um acht wecken"),
    "fr": ("salut", "comment dit-on au revoir", "merci"),
    "es": ("buenas noches", "cómo se dice adiós en inglés", "gracias"),
    "it": ("ciao", "come si dice arrivederci in inglese", "grazie"),
    "pt": ("boa noite", "como se diz adeus em inglês", "obrigado"),
    "ja": ("さようならは英語で何と言いますか", "ありがとう"),
    "ko": ("안녕하세요", "고마워"),
    "ru": ("пока не надо", "как сказать до свидания по-английски", "спасибо"),
}


def test_every_language_of_the_messages_has_phrases() -> None:
    languages = {path.stem for path in PACKAGED.glob("*.po")}
    assert languages == word_list("exits").keys() == ENDING.keys() == GOING_ON.keys()


@pytest.mark.parametrize("language", word_list("exits"))
def test_what_ends_a_conversation(language: str) -> None:
    found = exit_phrases(language)
    assert [text for text in ENDING[language] if text not in found] == []
    assert [text for text in GOING_ON[language] if text in found] == []
    assert [each for each in word_list("exits")[language]["phrases"] if each not in found] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_goodbye_of_the_phrase_book_is_one_here(language: str) -> None:
    """So that the same words take the same way, whichever agent there is."""
    found = exit_phrases(language)
    goodbyes = [
        said
        for intent in load_language(language).intents
        if intent.name in {"end_conversation", "goodbye"}
        for node in intent.sentences
        for said in spoken(node)
    ]
    assert len(goodbyes) >= 6
    assert [said for said in goodbyes if said not in found] == []


def spoken(node: Node) -> list[str]:
    """Return all that a sentence template without slots stands for."""
    match node:
        case Word(text=text):
            return [text]
        case Seq(items=items):
            return [" ".join(said).strip() for said in product(*map(spoken, items))]
        case Alt(items=items):
            return [said for item in items for said in spoken(item)]
    raise AssertionError(node)


def test_the_device_s_own_phrases_and_name() -> None:
    own = exit_phrases("en", ("over and out",), "Kitchen")
    assert "Okay, over and out, Kitchen!" in own
    assert "goodbye" not in own
    assert "goodbye" not in exit_phrases("en", ())
    assert "kitchen" not in own
    assert "vaarwel" in exit_phrases("nl", ("vaarwel",))
    assert "goodbye" not in exit_phrases("nl")
    assert "再见" in exit_phrases("zh-Hans-CN")


def test_the_work_is_bounded() -> None:
    """Words that can be read as pieces in many ways are no danger."""
    many = WholePhrases(["是", "是的", "是的是"], ["的", "的是"], "zh")
    assert "是的" * (MAX_CHARS // 2) in many
    assert "是的" * (MAX_CHARS // 2 - 1) + "x" not in many
    assert "是" * (MAX_CHARS + 1) not in many
