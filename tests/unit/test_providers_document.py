"""docs/providers.md names every provider there is, and none that there is not."""

from __future__ import annotations

import re
from pathlib import Path

from vixio.providers import registry

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "providers.md"

ROW = re.compile(r"^\| (VAD|ASR|TTS|vision|agent) \| \[`([^`]+)`\]\(([^)]*)\) \|", re.MULTILINE)


def sections() -> dict[str, str]:
    """The text below each heading of the second level, by its anchor."""
    parts = re.split(r"^## (.+)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-"): text
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_the_table_has_every_provider_once() -> None:
    rows = [(kind.lower(), name) for kind, name, _ in ROW.findall(sections()["which-one"])]
    assert len(set(rows)) == len(rows)
    there_are = {(kind.value, name) for kind, name in registry.builtin_names()}
    assert there_are - set(rows) == set(), "docs/providers.md, Which one: these lack a row"
    assert set(rows) - there_are == set(), "docs/providers.md, Which one: there are none of these"


def test_each_links_to_where_it_is_told() -> None:
    known = sections()
    for _, name, link in ROW.findall(known["which-one"]):
        page, _, anchor = link.partition("#")
        if page:
            assert DOCUMENT.with_name(page).is_file(), link
        else:
            assert anchor in known, f"{name} links to no section: {link}"


def test_every_section_links_to_one_that_is_there() -> None:
    known = sections()
    for text in known.values():
        for anchor in re.findall(r"\]\(#([^)]+)\)", text):
            assert anchor in known, f"there is no section #{anchor}"


def test_the_presets_that_it_names_are_there() -> None:
    named = set(re.findall(r"`(config/[^`]+)`", DOCUMENT.read_text(encoding="utf-8")))
    assert named
    assert {each for each in named if not DOCUMENT.parents[1].joinpath(each).is_file()} == set()
