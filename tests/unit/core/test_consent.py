"""What counts as a yes, and what does not."""

import pytest

from vixio.core.consent import is_no, is_yes
from vixio.core.wordlists import word_list


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "Yes.", "YES!", "yes please", "Yes, please do.", "ok", "okay, do it", "sure"),
        *("of course", "go ahead", "Well, yes", "oh yes yes", "that’s right", "I'm sure, thanks"),
        *(
            "ja",
            "Ja, bitte.",
            "na klar",
            "sí",
            "Sí, claro.",
            "vale, por favor",
            "oui",
            "Bien sûr !",
        ),
        *("Oui, vas-y.", "はい", "はい、お願いします。", "いいですよ"),
        *(
            "是",
            "是的。",
            "好的",
            "好 的 ，请",
            "嗯，确定",
            "可以啊",
            "没问题",
            "当然可以",
            "好吧",
            "请执行",
        ),
    ],
)
def test_a_yes(text: str) -> None:
    assert is_yes(text)
    assert not is_no(text)


@pytest.mark.parametrize(
    "text",
    [
        *("ja aber nicht jetzt", "nicht", "sí pero no", "si no", "oui mais non", "bon", "ja nein"),
        *("はい、いいえ", "大丈夫です", "いいです", "そうですね", "jawohl nicht"),
        *("", " ", "?", "please", "yes but not the bedroom", "no", "yes no", "no yes", "not sure"),
        *(
            "yes or no",
            "is that right",
            "I do not",
            "yesterday",
            "what time is it",
            "make it so so",
        ),
        *(
            "yes and delete everything",
            "ok google",
            "don't do it",
            "sure not",
            "right after dinner",
        ),
        *(
            "不是",
            "不好",
            "好不好",
            "可以吗",
            "是不是",
            "是谁",
            "好像",
            "请",
            "不要",
            "行不行",
            "对方是谁",
        ),
    ],
)
def test_no_yes(text: str) -> None:
    assert not is_yes(text)


@pytest.mark.parametrize(
    "text",
    [
        *("nein", "Nein, danke.", "lieber nicht", "no, gracias", "mejor no", "non merci", "いいえ"),
        *("だめ", "やめてください"),
        "no",
        "No, thanks.",
        "please don't",
        "stop",
        "不要",
        "算了吧",
        "不用了，谢谢",
    ],
)
def test_a_no(text: str) -> None:
    assert is_no(text)
    assert not is_yes(text)


@pytest.mark.parametrize("language", word_list("consent"))
def test_every_listed_phrase_counts(language: str) -> None:
    words = word_list("consent")[language]
    assert all(map(is_yes, words["yes"]))
    assert all(map(is_no, words["no"]))
    assert not any(map(is_yes, words["no"]))
    assert not any(map(is_yes, words["fill"]))
    assert not set(words["yes"]) & set(words["no"])
