"""README.zh.md and docs/zh follow the English pages, and name only what there is.

Links are those of all documents: tests/unit/test_references.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from scripts import chinese_pages
from tests.vendors.live_faults import FAULTS
from vixio.cli.commands import main
from vixio.core.messages import REASONS, reason
from vixio.providers import registry
from vixio.providers.registry import ProviderKind
from vixio.settings import Settings, load_settings
from vixio.settings.schema import fields, submodel

ROOT = Path(__file__).resolve().parents[2]
PAGES = chinese_pages.pages()

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"^(?:\.venv/bin/)?vixio +(.+)")
TARGET = re.compile(r"^make +([a-z-]+)")
KEY = re.compile(r"[a-z_]+(?:\.[a-z_]+)+")
NAME = re.compile(r"[a-z_]+")
VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
ADDRESS = re.compile(r"\b(?:https?|wss?)://[^\s`)>\"'，。；]+")


def blocks(page: Path, language: str) -> list[str]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [
        "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))
        for indent, name, text in found
        if name == language
    ]


def code(page: Path) -> Iterator[str]:
    """Yield the lines of code of a page, within its sentences and in blocks."""
    for text in blocks(page, ""):
        yield from (line.partition("  #")[0].strip() for line in text.splitlines())
    yield from INLINE.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))


# ── in step with the English pages ─────────────────────────────────────────────────────────────


@each_page
def test_a_page_whose_sources_have_changed_is_named(page: Path) -> None:
    found = list(chinese_pages.stale(page))
    advice = "read both, then: python scripts/chinese_pages.py --accept"
    assert found == [], f"{advice} {page.relative_to(ROOT)}"


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page of two sections, with one drawn from both."""
    monkeypatch.setattr(chinese_pages, "ROOT", tmp_path)
    tmp_path.joinpath("en.md").write_text("# One\nfirst\n```\n# none\n```\n## Two\nsecond one\n")
    page = tmp_path / "zh.md"
    page.write_text("# 一\n\n<!-- sources\nen.md#one 0\nen.md#two 0\n-->\n")
    assert len(list(chinese_pages.stale(page))) == 2
    assert chinese_pages.accept(page) == 0
    assert page.read_text().startswith("# 一\n\n<!-- sources\nen.md#one ")
    assert not list(chinese_pages.stale(page))
    return page


@pytest.mark.parametrize(
    ("now", "named"),
    [
        ("# One\nfirst\n```\n# none\n```\n## Two\nsecond\none\n", []),
        ("# One\nfirst\n```\n# none\n```\n## Two\nsecond two\n", ["en.md:6 has changed"]),
        ("# One\nfirst\n```\n# other\n```\n## Two\nsecond one\n", ["en.md:1 has changed"]),
        ("# One\nfirst\n```\n# none\n```\n## Zwei\nsecond one\n", ["there is no en.md#two"]),
        ("# One\nfirst\n```\n# none\n```\n### New\nx\n## Two\nsecond one\n", []),
    ],
)
def test_only_a_section_that_has_changed_is_named(copy: Path, now: str, named: list[str]) -> None:
    copy.with_name("en.md").write_text(now)
    found = list(chinese_pages.stale(copy))
    assert len(found) == len(named)
    assert all(each in line for each, line in zip(named, found, strict=True))


def test_a_page_without_sources_is_a_mistake(tmp_path: Path) -> None:
    page = tmp_path / "zh.md"
    page.write_text("# 一\n")
    with pytest.raises(ValueError, match="expected one comment"):
        list(chinese_pages.sources(page))


def test_readers_find_the_pages_and_the_way_back() -> None:
    assert "(README.zh.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    start = (ROOT / "README.zh.md").read_text(encoding="utf-8")
    assert "(README.md)" in start
    for page in PAGES[1:]:
        assert f"(docs/zh/{page.name})" in start
        assert "(../../README.zh.md)" in page.read_text(encoding="utf-8")


# ── what they name is there ────────────────────────────────────────────────────────────────────


@each_page
def test_every_example_of_settings_loads(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(blocks(page, "yaml")):
        path = tmp_path / f"{number}.yaml"
        path.write_text(block, encoding="utf-8")
        load_settings(path, dict.fromkeys(re.findall(r"\$\{(\w+)\}", block), "https://k"))


def mistake(arguments: str) -> str:
    """Return what is wrong with a command of ours; nothing if it is there with its options."""
    command: click.Command = main
    for word in re.sub(r"(['\"]).*?\1", "x", arguments).split():
        if word.startswith("--"):
            known = {each for it in command.params for each in (*it.opts, *it.secondary_opts)}
            if word.partition("=")[0] not in known | {"--help"}:
                return f"{command.name} has no {word}"
        elif isinstance(command, click.Group) and re.fullmatch(r"[a-z-]+", word):
            found = command.get_command(click.Context(command), word)
            if found is None:
                return f"{command.name} has no {word}"
            command = found
    return ""


@each_page
def test_every_command_is_there(page: Path) -> None:
    lines = list(code(page))
    given = [found[1] for line in lines if (found := COMMAND.match(line))]
    assert [f"{each}: {wrong}" for each in given if (wrong := mistake(each))] == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [found[1] for line in lines if (found := TARGET.match(line))]
    assert [each for each in targets if f"\n{each}:" not in makefile] == []


def known(key: str) -> bool:
    """Return whether there is a key of the settings; of a part, one that any provider has."""
    first, _, rest = key.partition(".")
    if first in {kind.value for kind in ProviderKind} and "." not in rest:
        options = {"name"}
        for kind, name in registry.builtin_names():
            if kind.value == first:
                options |= fields(registry.resolve(kind, name).settings_model).keys()
        return rest in options
    model: type[BaseModel] | None = Settings
    for part in key.split("."):
        if model is None or part not in fields(model):
            return False
        model = submodel(fields(model)[part].annotation)
    return True


@each_page
def test_every_key_of_the_settings_is_there(page: Path) -> None:
    said = (line.partition(":")[0] for line in code(page))
    keys = [
        each
        for each in said
        if KEY.fullmatch(each)
        and each.partition(".")[0] in fields(Settings)
        and not each.endswith((".yaml", ".md"))
    ]
    assert [each for each in keys if not known(each)] == []


def sources_of_truth() -> str:
    places = [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "config").glob("*.yaml"),
        *(ROOT / "vixio").rglob("*.py"),
        *(ROOT / "scripts").glob("*.*"),
        *(ROOT / name for name in ("README.md", "Makefile")),
    ]
    return "\n".join(each.read_text(encoding="utf-8") for each in places)


@pytest.mark.slow
def test_names_and_addresses_are_those_of_the_code_and_the_english_pages() -> None:
    truth = sources_of_truth()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named = VARIABLE.findall("\n".join(code(page)))
        found = {*named, *(each.rstrip("/*") for each in ADDRESS.findall(text))}
        assert {each for each in found if each not in truth} == set(), page.name
        words = {each for each in code(page) if NAME.fullmatch(each)}
        assert words - {*re.findall(r"\w+", truth)} == set(), page.name


# ── the page of faults ─────────────────────────────────────────────────────────────────────────


def faults() -> str:
    return (ROOT / "docs/zh/faults.md").read_text(encoding="utf-8")


def test_every_fault_that_a_check_tells_is_explained() -> None:
    missing = {each.says for each in FAULTS if f"`{each.says}" not in faults()}
    assert missing == set()


def test_every_reason_on_the_screen_is_explained() -> None:
    assert [each for each in REASONS if f"| {reason(each, 'zh')} |" not in faults()] == []
