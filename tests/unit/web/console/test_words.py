"""Every page has the words that it shows, in each language, whichever page was opened first."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from vixio.composition.profile_form import profile_form
from vixio.settings import Settings
from vixio.web.console.assets import read_assets

PLACES = ("words/profile-options.js", "words/provider-options.js")
"""Of the labels of options."""

IMPORT = re.compile(r'(?:from|import)\s+"(\.[^"]+\.js)"')
USED = re.compile(r'\bt\(\s*"([\w.-]+)"')
WORDS = re.compile(r'^    "?([\w.: -]+)"?: "', re.MULTILINE)


def modules() -> dict[str, str]:
    """Return the texts of all modules, by path."""
    files = read_assets().files
    return {path: each.content.decode() for path, each in files.items() if path.endswith(".js")}


def reached(path: str, texts: Mapping[str, str]) -> set[str]:
    """Return a module and all that it imports."""
    found: set[str] = set()
    waiting = [path]
    while waiting:
        at = waiting.pop()
        if at not in found:
            found.add(at)
            near = posixpath.dirname(at)
            waiting += [
                posixpath.normpath(posixpath.join(near, each)) for each in IMPORT.findall(texts[at])
            ]
    return found


def keys(text: str) -> tuple[set[str], set[str]]:
    """Return the keys of a module of words, in English and in Chinese."""
    english, _, chinese = text.partition("\n  zh: {")
    return set(WORDS.findall(english)), set(WORDS.findall(chinese))


def test_a_page_has_its_words_when_it_is_opened_first() -> None:
    texts = modules()
    always = reached("app.js", texts)
    routes = texts["routes.js"]
    lacking: dict[str, set[str]] = {}
    pages = re.findall(r'import\("\./(pages/\w+\.js)"\)', routes)
    assert len(pages) >= 8
    for page in pages:
        mine = always | reached(page, texts)
        known = {key for path in mine if path.startswith("words/") for key in keys(texts[path])[0]}
        known |= {key for path in mine if path.startswith("pages/") for key in keys(texts[path])[0]}
        used = {key for path in mine for key in USED.findall(texts[path])}
        if missing := {each for each in used if each not in known and f"{each}.one" not in known}:
            lacking[page] = missing
    assert lacking == {}


def test_every_word_is_there_in_both_languages() -> None:
    for path, text in modules().items():
        if path.startswith("words/") and "\n  zh: {" in text and "\n  en: {}," not in text:
            english, chinese = keys(text)
            assert {each for each in english ^ chinese if not each.endswith(".one")} == set(), path


def test_every_option_of_a_provider_has_a_chinese_label() -> None:
    providers = profile_form(Settings())["providers"]
    options = {
        name
        for known in providers.values()
        for each in known
        for name in (each["options"] or {}).get("properties", {})
    }
    texts = modules()
    shown = {key for path in PLACES for key in keys(texts[path])[1]}
    assert {each for each in options if f"profiles.option.{each}" not in shown} == set()
