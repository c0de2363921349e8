"""The packaged catalogues: complete, equal in keys and names, and short enough to be spoken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from vixio.core.errors import ConfigError
from vixio.core.messages import (
    FILLERS,
    FILLERS_AGAIN,
    PARTS,
    REASONS,
    failure_key,
    has_catalogue,
    message,
    reason,
    use_folder,
)
from vixio.core.messages.catalogues import PACKAGED, names
from vixio.core.messages.po import read_po

LANGUAGES = sorted(path.stem for path in PACKAGED.glob("*.po"))
ENGLISH = read_po(PACKAGED / "en.po")

WIDE = re.compile(r"[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]")


def seconds(text: str) -> float:
    """Estimate how long a voice takes: 15 letters a second, 5 characters of East Asian scripts."""
    wide = len(WIDE.findall(text))
    return wide / 5 + (len(text) - wide) / 15


def test_the_languages_that_are_promised() -> None:
    assert {"en", "zh", "de", "fr", "es", "it", "pt", "ja", "ko", "ru"} <= set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_is_complete(language: str) -> None:
    catalogue = read_po(PACKAGED / f"{language}.po")
    assert catalogue.forms.keys() == ENGLISH.forms.keys()
    for key, texts in catalogue.forms.items():
        assert len(texts) == (1 if len(ENGLISH.forms[key]) == 1 else catalogue.plurals), key
        wanted = names(ENGLISH.forms[key][-1])
        for text in texts:
            # A form for one thing may do without the number.
            assert names(text) == wanted or (len(texts) > 1 and names(text) < wanted), key
            assert text.count("{") == text.count("}") == len(names(text)), key


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_nothing_was_left_in_english(language: str) -> None:
    catalogue = read_po(PACKAGED / f"{language}.po")
    same = {key for key, texts in catalogue.forms.items() if texts == ENGLISH.forms[key]}
    assert same <= {"error_status", "facts_join", "duration_minutes"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_spoken_and_shown_is_short(language: str) -> None:
    for key in FILLERS + FILLERS_AGAIN:
        assert seconds(message(key, language)) <= 2.2, key
    for key in ENGLISH.forms:
        if key.startswith("reason_") or key.endswith("_status"):
            assert seconds(message(key, language)) <= 2.0, key
        elif key in {"not_understood_first", "no_phrase_book"}:
            assert seconds(message(key, language)) <= 12.5, key
        elif key != "confirm":
            assert seconds(message(key, language)) <= 8.0, key


@pytest.mark.parametrize("language", LANGUAGES)
def test_numbers_have_their_forms(language: str) -> None:
    said = {message("recalled", language, n=number, facts="x") for number in (1, 2, 5)}
    assert len(said) == 3
    assert "{" not in "".join(said)


def test_every_reason_and_part_has_words() -> None:
    assert {key for key in ENGLISH.forms if key.startswith("reason_")} == {
        f"reason_{each}" for each in REASONS
    }
    spoken = {f"cannot_{each}" for each in REASONS if each != "timeout"}
    assert {key for key in ENGLISH.forms if key.startswith("cannot_")} == spoken
    assert {key for key in ENGLISH.forms if key.startswith("part_")} == {
        f"part_{each}" for each in PARTS
    }
    assert reason("quota", "zh-CN") == "额度已用完"
    assert reason("quota", "xx") == "Quota exhausted"
    assert reason("", "en") == reason("else", "en") == ""
    assert failure_key("quota") == "failed"


def test_the_russian_plural() -> None:
    said = [message("recalled", "ru", n=number, facts="x") for number in (1, 3, 11, 21, 25)]
    words = ["запись:", "записи:", "записей:", "запись:", "записей:"]
    assert [each.split()[2] for each in said] == words


def test_a_language_without_a_catalogue_is_english() -> None:
    assert not has_catalogue("tlh")
    assert has_catalogue("pt-BR")
    assert has_catalogue("zh_Hans_CN")
    assert message("failed", "tlh") == message("failed", "en")
    assert message("failed", "../en") == message("failed", "en")
    with pytest.raises(KeyError):
        message("nonsense", "de")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def write(folder: Path, name: str, *entries: tuple[str, str]) -> None:
    text = "".join(f'msgid "{key}"\nmsgstr "{words}"\n\n' for key, words in entries)
    folder.joinpath(name).write_text(text, encoding="utf-8")


@pytest.fixture
def _packaged_again() -> Iterator[None]:
    yield
    use_folder(None)


@pytest.mark.usefixtures("_packaged_again")
def test_a_folder_adds_languages_and_changes_single_messages(folder: Path) -> None:
    write(folder, "nl.po", ("failed", "Sorry, dat ging mis."))
    write(folder, "de-AT.po", ("filler_1", "Moment."))
    write(folder, "en.po", ("done", "Right away."))
    use_folder(folder)
    assert has_catalogue("nl-BE")
    assert message("failed", "nl") == "Sorry, dat ging mis."
    assert message("timeout", "nl") == message("timeout", "en")
    assert message("filler_1", "de_AT") == "Moment."
    assert message("filler_2", "de_AT") == message("filler_2", "de")
    assert message("filler_1", "de") != "Moment."
    assert message("done", "en-US") == message("done", "nl") == "Right away."
    use_folder(None)
    assert not has_catalogue("nl")


@pytest.mark.usefixtures("_packaged_again")
@pytest.mark.parametrize(
    ("entry", "wrong"),
    [
        (("faild", "x"), "there is no message 'faild'"),
        (("failed", "{who} failed"), "failed has no {who}"),
        (("confirm", "{said} {n}"), "confirm has no {n}"),
    ],
)
def test_a_mistake_in_a_folder_is_one_line(
    folder: Path, entry: tuple[str, str], wrong: str
) -> None:
    write(folder, "nl.po", entry)
    before = message("failed", "en")
    with pytest.raises(ConfigError, match=re.escape(wrong)) as caught:
        use_folder(folder)
    assert "nl.po" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert message("failed", "en") == before
    assert not has_catalogue("nl")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no folder"):
        use_folder(tmp_path / "none")
    with pytest.raises(ConfigError, match="has no file"):
        use_folder(tmp_path)
