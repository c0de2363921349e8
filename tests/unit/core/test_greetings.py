"""What is said to a wake word."""

from __future__ import annotations

from vixio.core.greetings import WakeGreetings


def said(greetings: WakeGreetings, word: str) -> set[str]:
    """Return all that may be said."""
    return {greetings.greeting(word) for _ in range(100)}


def test_a_text_and_several() -> None:
    assert said(WakeGreetings.of("Yes?"), "Alexa") == {"Yes?"}
    assert said(WakeGreetings.of(["Yes?", "I am here."]), "Alexa") == {"Yes?", "I am here."}
    for nothing in ("", " ", [], [""], {}, {"*": ""}):
        assert said(WakeGreetings.of(nothing), "Alexa") == {""}


def test_by_wake_word() -> None:
    greetings = WakeGreetings.of({"hi esp": "Yes?", "你好小智": ["我在", "在呢"], "*": "Hm?"})
    assert said(greetings, "Hi, ESP!") == {"Yes?"}
    assert said(greetings, "你好 小智") == {"我在", "在呢"}
    assert said(greetings, "Alexa") == said(greetings, "") == {"Hm?"}
    assert greetings.wake_words == ("hi esp", "你好小智")
    assert said(WakeGreetings.of({"hi esp": "Yes?"}), "Alexa") == {""}


def test_equal_ones_are_equal() -> None:
    """Profiles with the same greetings are the same profile."""
    texts = {"hi esp": ["Yes?"], "*": "Hm?"}
    assert WakeGreetings.of(texts) == WakeGreetings.of(dict(texts))
    assert hash(WakeGreetings.of(texts)) == hash(WakeGreetings.of(dict(texts)))
    assert WakeGreetings.of(WakeGreetings.of(texts)) == WakeGreetings.of(texts)
