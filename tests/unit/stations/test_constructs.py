"""Where links, code, tags, entities and URLs end, and when more text is needed to know."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vixio.language.text.constructs import (
    NONE,
    Reading,
    host_of,
    read_code,
    read_entity,
    read_label,
    read_tag,
    read_target,
    read_url,
)
from vixio.language.text.scan import Scan

Read = Callable[[Scan], Reading | None]

BEFORE = 100 * "a"
"""Text before the construct, in half of the cases."""

OPEN, FINAL, BOTH = (False,), (True,), (False, True)


def check(read: Read, text: str, finals: tuple[bool, ...], expected: Reading | None) -> None:
    """``read`` gives the same wherever the text begins, its end counted from there."""
    for final in finals:
        for before in ("", BEFORE):
            scan = Scan(before + text, final=final)
            scan.at = len(before)
            found = read(scan)
            if found is not None and found.end >= 0:
                found = Reading(found.end - len(before), found.text)
            assert found == expected, (text, final, before)


def labelled(opening: int) -> Read:
    return lambda scan: read_label(scan, opening)


@pytest.mark.parametrize(
    ("opening", "text", "finals", "expected"),
    [
        (1, "[a](b) c", BOTH, Reading(6, "a")),
        (1, "[a](b)", BOTH, Reading(6, "a")),
        (2, "![a](b)", BOTH, Reading(7, "a")),
        (1, "[](b)", BOTH, Reading(5, "")),
        (1, "[^1]x", BOTH, Reading(4)),
        (1, "[^1]", BOTH, Reading(4)),
        (1, "[^" + 14 * "x" + "](u)", BOTH, Reading(17)),
        (1, "[^" + 15 * "x" + "](u)", BOTH, Reading(21, "^" + 15 * "x")),
        (1, "[a", OPEN, None),
        (1, "[a", FINAL, NONE),
        (1, "[a]", OPEN, None),
        (1, "[a]", FINAL, NONE),
        (1, "[a](b", OPEN, None),
        (1, "[a](b", FINAL, NONE),
        (1, "[a]x", BOTH, NONE),
        (1, "[a[b](c)", BOTH, NONE),
        (1, "[a[(c)", BOTH, NONE),
        (1, "[a\n(c)", BOTH, NONE),
        (1, "[X](b)", BOTH, Reading(6, "X")),
        (1, "[a\nb](c)", BOTH, NONE),
        (1, "[" + 299 * "x" + "](u)", BOTH, Reading(304, 299 * "x")),
        (1, "[" + 300 * "x" + "](u)", BOTH, NONE),
    ],
)
def test_labels(
    opening: int, text: str, finals: tuple[bool, ...], expected: Reading | None
) -> None:
    check(labelled(opening), text, finals, expected)


@pytest.mark.parametrize(
    ("text", "finals", "expected"),
    [
        ("(b)", BOTH, Reading(3, "b")),
        ("(X)", BOTH, Reading(3, "X")),
        ("(b) c)", BOTH, Reading(3, "b")),
        ("(a(b)c)", BOTH, Reading(7, "a(b)c")),
        ("((((x))))", BOTH, Reading(9, "(((x)))")),
        ("(((((x)))))", BOTH, NONE),
        ("x(b)", BOTH, NONE),
        ("", BOTH, NONE),
        ("(a\nb)", BOTH, NONE),
        ("(abc", OPEN, None),
        ("(abc", FINAL, NONE),
        ("(" + 598 * "x" + ")", BOTH, Reading(600, 598 * "x")),
        ("(" + 599 * "x" + ")", BOTH, NONE),
        ("(()" + 596 * "x" + ")", BOTH, Reading(600, "()" + 596 * "x")),
        ("(()" + 597 * "x" + ")", BOTH, NONE),
    ],
)
def test_targets(text: str, finals: tuple[bool, ...], expected: Reading | None) -> None:
    check(lambda scan: read_target(scan, scan.at), text, finals, expected)


@pytest.mark.parametrize(
    ("run", "text", "finals", "expected"),
    [
        (1, "`a` b", BOTH, Reading(3, "a")),
        (1, "`X` b", BOTH, Reading(3, "X")),
        (1, "` a `.", BOTH, Reading(5, "a")),
        (2, "`` a ` b ``.", BOTH, Reading(11, "a ` b")),
        (1, "`a``b` c", BOTH, Reading(6, "a``b")),
        (1, "`a`", OPEN, None),
        (1, "`a`", FINAL, Reading(3, "a")),
        (1, "`a", OPEN, None),
        (1, "`a", FINAL, NONE),
        (1, "`a\n`", BOTH, NONE),
        (2, "``a\n", BOTH, NONE),
        (3, "```py\n", BOTH, Reading(-1, "```")),
        (4, "````py\n", BOTH, Reading(-1, "````")),
        (3, "```py", OPEN, None),
        (3, "```py", FINAL, Reading(-1, "```")),
        (3, "```a``` b", BOTH, Reading(7, "a")),
        (3, "```" + 159 * "x", FINAL, Reading(-1, "```")),
        (3, "```" + 160 * "x", BOTH, NONE),
        (1, "`a" + 17 * "`" + " b", BOTH, Reading(19, "a" + 16 * "`")),
        (1, "`" + 159 * "x" + "` b", BOTH, Reading(161, 159 * "x")),
        (1, "`" + 160 * "x" + "` b", BOTH, NONE),
        (1, "`a``" + 156 * "x" + "` b", BOTH, Reading(161, "a``" + 156 * "x")),
        (1, "`a``" + 157 * "x" + "` b", BOTH, NONE),
    ],
)
def test_inline_code(
    run: int, text: str, finals: tuple[bool, ...], expected: Reading | None
) -> None:
    check(lambda scan: read_code(scan, run), text, finals, expected)


@pytest.mark.parametrize(
    ("text", "finals", "expected"),
    [
        ("<b>x", BOTH, Reading(3, "b")),
        ("</B >x", BOTH, Reading(5, "b")),
        ("<br/>", BOTH, Reading(5, "br")),
        ("<a href='x' b=\"c\" d=e f>x", BOTH, Reading(24, "a")),
        ("<!-- x --> y", BOTH, Reading(10)),
        ("<https://a.b/c> d", BOTH, Reading(15, "<https://a.b/c>")),
        ("<a.b> c", BOTH, Reading(5, "<a.b>")),
        ("<", OPEN, None),
        ("<", FINAL, NONE),
        ("<3", BOTH, NONE),
        ("< b>", BOTH, NONE),
        ("<é>", BOTH, NONE),
        ("<b", OPEN, None),
        ("<b", FINAL, NONE),
        ("<b<c>", BOTH, NONE),
        ("<!a<b>", BOTH, NONE),
        ("<!a\nb>", BOTH, NONE),
        ("<b X>x", BOTH, Reading(5, "b")),
        ("<b\n>", BOTH, NONE),
        ("<b=c>", BOTH, NONE),
        ("</>", BOTH, NONE),
        ("<b" + 118 * " " + ">", BOTH, Reading(121, "b")),
        ("<b" + 119 * " " + ">", BOTH, NONE),
    ],
)
def test_tags(text: str, finals: tuple[bool, ...], expected: Reading | None) -> None:
    check(read_tag, text, finals, expected)


@pytest.mark.parametrize(
    ("text", "finals", "expected"),
    [
        ("&amp;x", BOTH, Reading(5, "&")),
        ("&#65;", BOTH, Reading(5, "A")),
        ("&#x41; b", BOTH, Reading(6, "A")),
        ("&nbsp;x", BOTH, Reading(6, " ")),
        ("&#xe001;x", BOTH, Reading(8, "")),
        ("&am", OPEN, None),
        ("&am", FINAL, NONE),
        ("&", OPEN, None),
        ("&", FINAL, NONE),
        ("&abcdefghi", OPEN, None),
        ("&abcdefghij", OPEN, NONE),
        ("&x y", BOTH, NONE),
        ("& x", BOTH, NONE),
    ],
)
def test_entities(text: str, finals: tuple[bool, ...], expected: Reading | None) -> None:
    check(read_entity, text, finals, expected)


@pytest.mark.parametrize(
    ("text", "finals", "expected"),
    [
        ("https://a.b/c d", BOTH, Reading(13, "https://a.b/c")),
        ("HTTP://A.b d", BOTH, Reading(10, "HTTP://A.b")),
        ("www.a.b d", BOTH, Reading(7, "www.a.b")),
        ("https://a.b. d", BOTH, Reading(11, "https://a.b")),
        ("https://a.b/X d", BOTH, Reading(13, "https://a.b/X")),
        ("https://a.b/?!~ d", BOTH, Reading(12, "https://a.b/")),
        ("https://a.b/(c)) d", BOTH, Reading(15, "https://a.b/(c)")),
        ("https://a.b/[c]] d", BOTH, Reading(15, "https://a.b/[c]")),
        ("https://a.b/c) d", BOTH, Reading(13, "https://a.b/c")),
        ("https://a.b/(c] d", BOTH, Reading(14, "https://a.b/(c")),
        ("https://a.b", OPEN, None),
        ("https://a.b", FINAL, Reading(11, "https://a.b")),
        ("https:// d", BOTH, NONE),
        ("https://--- d", BOTH, NONE),
        ("htt", OPEN, None),
        ("htt", FINAL, NONE),
        ("https:/", OPEN, None),
        ("https:/x", BOTH, NONE),
        ("http x", BOTH, NONE),
        ("he", BOTH, NONE),
        ("www", OPEN, None),
        ("wwx", BOTH, NONE),
        ("https://a.b/" + 987 * "x", OPEN, None),
        ("https://a.b/" + 989 * "x" + " d", BOTH, Reading(1_000, "https://a.b/" + 988 * "x")),
        ("https://a.b/" + 988 * "x", OPEN, Reading(1_000, "https://a.b/" + 988 * "x")),
    ],
)
def test_urls(text: str, finals: tuple[bool, ...], expected: Reading | None) -> None:
    check(read_url, text, finals, expected)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://www.a.b/c", "a.b"),
        ("a.b/c", "a.b"),
        ("www.a.b", "a.b"),
        ("https://user@Host.example:80/", "host.example"),
        ("http://[::1", ""),
        ("https://---/", ""),
        ("https:///x", ""),
    ],
)
def test_hosts(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize("final", BOTH)
def test_what_has_not_come_yet(final: bool) -> None:
    scan = Scan("ab**", final=final)
    scan.at = 1
    assert (scan.peek(0), scan.peek(1), scan.peek(2)) == ("b", "*", "*")
    assert scan.peek(3) == ("" if final else None)
    assert scan.run("*", 16) == 0
    scan.at = 2
    assert scan.run("*", 16) == (2 if final else None)
    assert scan.run("*", 2) == 2
    assert scan.run("*", 1) == 1
    assert scan.find("x", 2, 2) == -1
    assert scan.find("x", 2, 3) == (-1 if final else None)


def test_the_first_of_several_characters_or_a_newline_is_found() -> None:
    scan = Scan("a]b[c\n]d^", final=False)
    assert scan.find("[]", 0, 9) == 1
    assert scan.find("[]", 2, 9) == 3
    assert scan.find("[]", 4, 5) == 5
    assert scan.find("^", 6, 3) == 8
    assert scan.find("^", 6, 2) == -1
