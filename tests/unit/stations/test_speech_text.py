"""Markdown, emoji and URLs are removed from a model's text."""

from __future__ import annotations

import pytest

from vixio.language.text.splitter import Face, Words
from vixio.stations.speech_text import SpeechText, clean


def read(*deltas: str) -> list[Words | Face]:
    text = SpeechText()
    pieces = [piece for delta in deltas for piece in text.feed(delta)]
    return [*pieces, *text.finish()]


def spoken(*deltas: str) -> list[str]:
    return [piece.spoken for piece in read(*deltas) if isinstance(piece, Words)]


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("**bold** and *slanted* and ***both***", "bold and slanted and both"),
        ("__bold__ and _slanted_", "bold and slanted"),
        ("这是**重点**内容", "这是重点内容"),
        ("snake_case and __init__.py", "snake_case and init.py"),
        ("5 * 3 = 15 and 5*3", "5 * 3 = 15 and 5*3"),
        ("~~old~~ new, ~5 km", "old new, ~5 km"),
        ("call `do_it()` now", "call do_it() now"),
        ("``a ` b`` end", "a ` b end"),
        ("an `open code", "an open code"),
        ("see [the page](https://a.example/x_(y)) now", "see the page now"),
        ("see [**the** page](/local) now", "see the page now"),
        ("![a cat](cat.png) sleeps", "a cat sleeps"),
        ("[![badge](b.png)](https://a.example) ok", "badge ok"),
        ("[not a link] (really)", "[not a link] (really)"),
        ("a fact[^1] here", "a fact here"),
        ("# Title", "Title"),
        ("### Title ###", "Title"),
        ("#hashtag", "#hashtag"),
        ("> quoted words", "quoted words"),
        ("- [ ] open\n- [x] done", "open done"),
        ("* one\n+ two\n• three", "one two three"),
        ("-5 degrees", "-5 degrees"),
        ("above\n\n---\n\nbelow", "above below"),
        ("above\n* * *\nbelow", "above below"),
        ("Title\n=====\ntext", "Title text"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a, b 1, 2"),
        ("a | b", "a, b"),
        ("| a | | c |", "a, c"),
        ("<b>bold</b> <span class='x'>text</span>", "bold text"),
        ("one<br>two<br/>three", "one two three"),
        ("<!-- hidden -->seen", "seen"),
        ("1 < 2 and a<b", "1 < 2 and a<b"),
        ("fish &amp; chips &lt;3 &#65; &nbsp; &x", "fish & chips <3 A &x"),
        (r"\*not slanted\* and 1\. x", "*not slanted* and 1. x"),
        ("a  b\t c\u00a0d\u3000e", "a b c d e"),
        ("a\u200bb\ufeffc\u00add\x00e\ue001f", "abcdef"),
        ("lines that\nare wrapped", "lines that are wrapped"),
        ("<https://a.example/b>.", "https://a.example/b."),
        ("<john@a.example>!", "john@a.example!"),
    ],
)
def test_markup_is_taken_out(markdown: str, plain: str) -> None:
    assert clean(markdown) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Great 😀!", "Great!"),
        ("Hi😀there", "Hi there"),
        ("family 👨‍👩‍👧‍👦 and flag 🇩🇪 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿 end", "family and flag and end"),
        ("key 1️⃣ and #️⃣ and *️⃣ end", "key and and end"),
        ("thumb 👍🏽 end", "thumb end"),
        ("heart ❤️ heart ❤ star ★ end", "heart heart star end"),
        ("code `a 😀b ✅` end", "code a b  end"),
        ("© 2027 Foo™ ©️ end", "© 2027 Foo™ end"),
        ("二○二七年", "二○二七年"),
        ("मलयാളം ന്\u200dറെ می\u200cخواهم", "मलयാളം ന്\u200dറെ می\u200cخواهم"),
    ],
)
def test_emoji_are_taken_out(text: str, plain: str) -> None:
    assert clean(text) == plain


@pytest.mark.parametrize(
    ("text", "voice"),
    [
        ("Go to https://www.example.com/a_b/c.html?d=1#e.", "Go to example.com."),
        ("(see http://example.com/a)", "(see example.com)"),
        ("At www.example.org, yes", "At example.org, yes"),
        ("请看https://example.com/路径。", "请看example.com路径。"),
        ("In docs.example.com/a/b?c it says", "In docs.example.com it says"),
        ("Mail to john_d.doe@example.com now", "Mail to john_d.doe@example.com now"),
        ("(docs.example.com/a). Or example.com/b/?", "(docs.example.com). Or example.com?"),
        ("and/or either", "and/or either"),
    ],
)
def test_urls_are_spoken_as_their_host(text: str, voice: str) -> None:
    assert " ".join(spoken(text)) == voice


def test_urls_are_shown_whole() -> None:
    assert read("See https://example.com/a?b=c.") == [
        Words("See https://example.com/a?b=c.", "See example.com.")
    ]


def test_code_blocks_are_not_read_aloud_however_they_arrive() -> None:
    text = "Run this:\n\n```python\nprint('x. y')\n# no end\n```\nThen go. `ok. go` too."
    assert spoken(text) == spoken(*text) == ["Run this:", "Then go.", "ok. go too."]


def test_a_code_block_that_stays_open_is_silent_and_held_nowhere() -> None:
    text = SpeechText()
    assert [*text.feed("Here.\n~~~~\n")] == [Words("Here.", "Here.")]
    for _ in range(1000):
        assert not [*text.feed("code. And more code! ``` x\n")]
    assert len(text._markdown._buffer) < 100
    assert not [*text.finish()]


def test_markers_split_between_deltas() -> None:
    assert spoken("**bo", "ld", "*", "* wo", "rds [li", "nk](http", "://a.b/", "c) e", "nd") == [
        "bold words link end"
    ]


def test_each_list_item_and_table_row_is_a_breath_of_its_own() -> None:
    text = "To do:\n1. First. Really.\n2. Second\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert spoken(text) == ["To do:", "1. First.", "Really.", "2. Second", "a, b", "1, 2"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("[happy] Hi!", [Face("🙂"), Words("Hi!", "Hi!")]),
        (" [SAD] Oh no!", [Face("😔"), Words("Oh no!", "Oh no!")]),
        ("[happy](https://a.example) Hi!", [Words("happy Hi!", "happy Hi!")]),
        ("[hello] Hi!", [Words("[hello] Hi!", "[hello] Hi!")]),
        ("Hi [happy]!", [Words("Hi [happy]!", "Hi [happy]!")]),
        ("[happy]", [Face("🙂")]),
        ("😀", [Face("😀")]),
        ("👍🏽 Done.", [Face("👍🏽"), Words("Done.", "Done.")]),
        ("...", []),
        ("—\n\n---\n**", []),
    ],
)
def test_faces_stand_before_their_sentence(text: str, pieces: list[Words | Face]) -> None:
    assert read(text) == pieces == read(*text)
