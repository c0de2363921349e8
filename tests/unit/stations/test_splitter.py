"""Where a long sentence is cut, what its length is, and what comes back in the place of slots."""

from __future__ import annotations

import pytest

from vixio.language.text.atoms import Atom, Atoms, without_emoji
from vixio.language.text.characters import BREAK
from vixio.language.text.splitter import Face, Limits, SentenceSplitter, Words

NEVER_EARLY = 10**6


def split(
    text: str, *, longest: int = 400, first: int = NEVER_EARLY, phrase: int = NEVER_EARLY
) -> list[str]:
    """Split stripped text; the same comes of it in one piece and character by character."""
    limits = Limits(first_clause=first, phrase=phrase, longest=longest)
    found = []
    for deltas in ([text], list(text)):
        splitter = SentenceSplitter(Atoms(), limits)
        pieces = [piece for delta in deltas for piece in splitter.feed(delta)]
        pieces += splitter.finish()
        found.append([piece.shown for piece in pieces if isinstance(piece, Words)])
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("text", "longest", "sentences"),
    [
        # Letters weigh 2: twenty of them.
        ("abcdefghijklmnopqrst", 40, ["abcdefghijklmnopqrst"]),
        ("abcdefghijklmnopqrstu", 40, ["abcdefghijklmnopqrst", "u"]),
        ("abcdefghijklmnopqrst", 41, ["abcdefghijklmnopqrst"]),
        # Wide characters weigh 5: eight of them.
        ("一二三四五六七八", 40, ["一二三四五六七八"]),
        ("一二三四五六七八九", 40, ["一二三四五六七八", "九"]),
        ("一二三四五六七ab九", 40, ["一二三四五六七ab", "九"]),
        # At the last clause, if it is not near the beginning; then at a space, but not in a number.
        ("aaaaaaaaa, bbbbbbbbbbbbbb", 40, ["aaaaaaaaa,", "bbbbbbbbbbbbbb"]),
        ("aaa, bbb, ccccccccccccccc", 40, ["aaa, bbb,", "ccccccccccccccc"]),
        ("a, bbbbbbbb cccccccccccccc", 40, ["a, bbbbbbbb", "cccccccccccccc"]),
        ("aaaaa, bbbb cccccccccccccc", 40, ["aaaaa, bbbb", "cccccccccccccc"]),
        ("aaaaaaaaaa bbbbbbbbb ccc", 40, ["aaaaaaaaaa bbbbbbbbb", "ccc"]),
        ("aaaaaaaaaa bbbbbbbbbb ccc", 40, ["aaaaaaaaaa", "bbbbbbbbbb ccc"]),
        ("aaaaaa bbbbbbbbbbbbbbbbbb", 40, ["aaaaaa bbbbbbbbbbbbb", "bbbbb"]),
        ("aaaaaaaaaa 1 2 bbbbbbbbb", 40, ["aaaaaaaaaa 1 2", "bbbbbbbbb"]),
        ("aaaaaaaaaaaaaaaa 1 2bbbbbbbbb", 40, ["aaaaaaaaaaaaaaaa", "1 2bbbbbbbbb"]),
        (20 * "a" + ". Bbb", 40, [20 * "a" + ".", "Bbb"]),
        (20 * "a" + ", bbb", 40, [20 * "a", ", bbb"]),
        (18 * "a" + "-1234567", 40, [18 * "a" + "-", "1234567"]),
        (25 * "1", 40, [20 * "1", 5 * "1"]),
        ("aaaaaaaa 111 222 333 444 5", 40, ["aaaaaaaa", "111 222 333 444 5"]),
        ("aaaa bbbbbbb 11 22 33 44 55", 40, ["aaaa bbbbbbb", "11 22 33 44 55"]),
        ("a, bbbbbbbbbbbbbbbbbbbbbbb", 40, ["a,", "bbbbbbbbbbbbbbbbbbbbbbb"[:20], "bbb"]),
        ("a bbbbbbbbbbbbbbbbbbbbbbbb", 40, ["a bbbbbbbbbbbbbbbbbb", "bbbbbb"]),
        # Anywhere, but not in a number or between a letter and its accent.
        ("aaaaaaaaaaaaaaaaaa1234567", 40, ["aaaaaaaaaaaaaaaaaa"[:17], "a1234567"]),
        ("aaaaaaaaaaaaaaaaaaae\u0301\u0301aa", 40, ["aaaaaaaaaaaaaaaaaaa", "e\u0301\u0301aa"]),
        (20 * "a" + "\u200daaa", 40, [19 * "a", "a\u200daaa"]),
        (19 * "a" + "\u200daaaa", 40, [18 * "a", "a\u200daaaa"]),
        ("一二三四五六七1八", 40, ["一二三四五六七1", "八"]),
    ],
)
def test_where_a_sentence_that_is_too_long_is_cut(
    text: str, longest: int, sentences: list[str]
) -> None:
    assert split(text, longest=longest) == sentences


@pytest.mark.parametrize(
    ("text", "first", "sentences"),
    [
        ("abcdefghij, and on. Then, on.", 24, ["abcdefghij, and on.", "Then, on."]),
        ("abcdefghijk, and on.", 24, ["abcdefghijk,", "and on."]),
        ("abcdefghijkl, and on. Then it goes, on.", 24, None),
        ("一二三，四。", 24, ["一二三，四。"]),
        ("一二三四，五。", 24, ["一二三四，", "五。"]),
        ("abcdef (gh, ijklmn, op), and on.", 24, ["abcdef (gh, ijklmn, op),", "and on."]),
    ],
)
def test_the_first_clause_is_given_from_its_length_on(
    text: str, first: int, sentences: list[str] | None
) -> None:
    expected = sentences or ["abcdefghijkl,", "and on.", "Then it goes, on."]
    assert split(text, first=first) == expected


@pytest.mark.parametrize(
    ("text", "phrase", "sentences"),
    [
        ("abcdefgh; and on; on.", 20, ["abcdefgh; and on;", "on."]),
        ("abcdefghi; and on; on.", 20, ["abcdefghi;", "and on; on."]),
    ],
)
def test_a_phrase_is_given_from_its_length_on(text: str, phrase: int, sentences: list[str]) -> None:
    assert split(text, phrase=phrase) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("“你好。我来。”他说。", ["“你好。", "我来。”", "他说。"]),
        ("你好。”他说。", ["你好。", "他说。"]),
        ('"你好。我来。"他说。', ['"你好。', '我来。"', "他说。"]),
        (f"“你好{BREAK}我来。”他说。", ["“你好", "我来。", "他说。"]),
        (f'"你好{BREAK}我来。他说。', ['"你好', "我来。", "他说。"]),
        ("你好。！！我来。", ["你好。", "我来。"]),
        ("你好。””我来。", ["你好。", "我来。"]),
        (f"“你好。{BREAK}我来。”他说。", ["“你好。", "我来。”", "他说。"]),
        ('"你好。"他说。', ['"你好。"', "他说。"]),
        ('"你好。我来。他走。"说。', ['"你好。', "我来。", '他走。"', "说。"]),
        ('"一"，"二。三。"四。', ['"一"，"二。', '三。"', "四。"]),
        ('"一"二。"三', ['"一"二。', '"三']),
        ('"一""二"三。"四', ['"一""二"三。', '"四']),
        ("“一”二。”三。", ["“一”二。", "三。"]),
        (") abc.", [") abc."]),
        ("...", []),
        (" — ", []),
    ],
)
def test_closing_marks_stay_with_their_sentence(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences


def test_the_end_of_the_text_decides() -> None:
    assert split("He works at Inc. He") == ["He works at Inc.", "He"]
    assert split("Hi. ") == ["Hi."]


def test_an_atom_is_as_long_as_it_is_spoken() -> None:
    atoms = Atoms()
    url = atoms.put("https://example.com/a/b/c", "example.com")
    splitter = SentenceSplitter(atoms, Limits(longest=40))
    pieces = [*splitter.feed(f"abc {url} defghij"), *splitter.finish()]
    assert pieces == [
        Words("abc https://example.com/a/b/c", "abc example.com"),
        Words("defghij", "defghij"),
    ]


def test_the_emoji_before_a_sentence_are_faces() -> None:
    atoms = Atoms()
    text = f" {atoms.put_emoji('😀')} {atoms.put_emoji('🎉')}Hi! {atoms.put_emoji('😢')}"
    splitter = SentenceSplitter(atoms, Limits())
    assert [*splitter.feed(text), *splitter.finish()] == [
        Face("😀"),
        Face("🎉"),
        Words("Hi!", "Hi!"),
        Face("😢"),
    ]
    assert atoms._emoji == {}


@pytest.mark.parametrize(
    ("text", "shown", "spoken"),
    [
        ("a b", "a b", "a b"),
        ("  a b ", "a b", "a b"),
        (f"a{BREAK}b{BREAK}", "a b", "a b"),
        (
            "see docs.a.bc/d?e, or and/or",
            "see docs.a.bc/d?e, or and/or",
            "see docs.a.bc, or and/or",
        ),
        ("(a.bc/d).", "(a.bc/d).", "(a.bc)."),
        ("a@b.cd/e", "a@b.cd/e", "a@b.cd/e"),
    ],
)
def test_a_sentence_without_slots(text: str, shown: str, spoken: str) -> None:
    assert Atoms().restore(text) == Atom(shown, spoken)


def test_slots_are_replaced_once() -> None:
    atoms = Atoms()
    first, second = atoms.put("`a`", "a"), atoms.put("b 😀", "c ✅ d")
    assert atoms.spoken_length(f"x{first}{second}") == 1 + len("c  d")
    assert atoms.spoken_length("x") == 0
    assert atoms.restore(f"x {second}, {first}") == Atom("x b , `a`", "x c  d, a")
    assert atoms._atoms == {}
    assert atoms.spoken_length(f"x{first}") == 0


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("Hi", "there", "Hi there"),
        ("Hi ", " there", "Hi there"),
        ("Hi", "!", "Hi!"),
        ("Hi ", ", you", "Hi, you"),
        ("Hi", "。", "Hi。"),
        ("Hi ", "", "Hi"),
        ("", "Hi", "Hi"),
    ],
)
def test_emoji_leave_one_space_or_none(before: str, after: str, shown: str) -> None:
    atoms = Atoms()
    emoji = atoms.put_emoji("😀") + " " + atoms.put_emoji("🎉")
    assert atoms.restore(before + emoji + after) == Atom(shown, shown)
    assert atoms._emoji == {}
    emoji = atoms.put_emoji("😀")
    assert atoms.restore(f"one{BREAK} two {emoji}three") == Atom("one two three", "one two three")


def test_slots_are_distinct_and_come_round() -> None:
    atoms = Atoms()
    slots = [atoms.put(str(number), "") for number in range(0x8FF)]
    faces = [atoms.put_emoji("😀") for _ in range(0xFFE)]
    assert slots == [chr(code) for code in range(0xF000, 0xF8FF)]
    assert faces == [chr(code) for code in range(0xE001, 0xEFFF)]
    assert (atoms.put("again", ""), atoms.put_emoji("🎉")) == (slots[0], faces[0])
    assert atoms.take_emoji(faces[0]) == "🎉"


def test_parts_of_emoji_are_removed_too() -> None:
    assert without_emoji("a 👍🏽b \ufe0fc 1\u20e3 plain") == "a b c 1 plain".replace("1 ", " ")
    assert without_emoji("1# plain") == "1# plain"
