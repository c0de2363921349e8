"""The text form of gettext catalogues."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ConfigError
from vixio.core.messages.po import Catalogue, read_po


def read(tmp_path: Path, text: str) -> Catalogue:
    path = tmp_path / "xx.po"
    path.write_text(text, encoding="utf-8")
    return read_po(path)


def test_what_translators_tools_write(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """\ufeff# A comment
msgid ""
msgstr ""
"Language: pl\\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 "
"|| n%100>=20) ? 1 : 2);\\n"

#. for translators
#: vixio/core.py:1
#, python-brace-format
msgid "long"
msgstr ""
"two "
"lines, \\"quoted\\",\\n"
"a \\\\ and a\\ttab"

#, fuzzy
msgid "guessed"
msgstr "perhaps"

msgid "many"
msgid_plural "many"
msgstr[0] "rzecz"
msgstr[1] "rzeczy"
msgstr[2] "rzeczy!"

msgid "untranslated"
msgstr ""

#~ msgid "gone"
#~ msgstr "gone"
""",
    )
    assert found.forms == {
        "long": ('two lines, "quoted",\na \\ and a\ttab',),
        "many": ("rzecz", "rzeczy", "rzeczy!"),
    }
    assert [found.plural(number) for number in (1, 2, 5, 22)] == [0, 1, 2, 1]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('msgid "a"\nmsgstr "b', "line 2: expected msgid"),
        ("nonsense", "line 1: expected msgid"),
        ('msgstr "b"', "line 1: expected a msgid first"),
        ('msgctxt "b"\nmsgid "a"', "line 1: msgctxt"),
        ('msgid "a"\nmsgstr "b"\nmsgid "a"\nmsgstr "c"', "line 3: a is there twice"),
        ('msgid "a"\nmsgid_plural "a"\nmsgstr[0] "b"', "line 1: a needs 2 plural forms"),
        (
            'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=__import__(n);"',
            "Plural-Forms",
        ),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert wrong in str(caught.value)
    assert "xx.po" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "xx.po"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_po(path)


def test_what_has_no_msgid_in_front_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 1"):
        read(tmp_path, '"lost"')


@given(st.text(alphabet='msgidtr "\\n[]0#,\n~fuzzy', max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "xx.po"
        path.write_text(text, encoding="utf-8")
        try:
            read_po(path)
        except ConfigError:
            return
