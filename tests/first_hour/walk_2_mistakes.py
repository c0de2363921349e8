"""Mistakes of a first hour: one line says what is wrong, and what it says to do works."""

from __future__ import annotations

import re
import shlex
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.first_hour.house import House

MISTAKES = {
    "a tab": ("server:\n\tport: 8100\n", ("wrong.yaml:2:", "tab")),
    "a full-width colon": ("assistant：\n  language: zh\n", ("wrong.yaml:1:", "：")),
    "a misspelt section": ("assistent: {language: en}\n", ("assistant",)),
    "an address without a scheme": (
        "agent: {name: openai, model: m, base_url: 192.168.1.5:11434/v1}\n",
        ("base_url", "http://"),
    ),
    "a whole endpoint": (
        "agent: {name: openai, model: m, base_url: 'http://127.0.0.1:1/v1/chat/completions'}\n",
        ("base_url", "http://127.0.0.1:1/v1"),
    ),
    "a program that is not there": (
        "mcp_servers: {files: {command: no-such-program}}\n",
        ("files", "no-such-program"),
    ),
    "an address where nobody listens": (
        "agent: {name: openai, model: m, base_url: 'http://127.0.0.1:9/v1'}\n",
        ("127.0.0.1:9",),
    ),
    "a speech service that is not there": (
        "tts: {name: openai, model: m, voice: v, base_url: 'http://127.0.0.1:9/v1'}\n",
        ("tts", "127.0.0.1:9"),
    ),
}

NEEDS_EXTRA = {
    "edge": "tts: {name: edge}",
}

COMMAND = re.compile(
    r"(?:make -B setup|make extra NAME=(?:\"[^\"]+\"|\S+)|\.venv/bin/vixio [a-z-]+)"
)

SHOWN = (*("docs", "config", "examples", "vixio", "scripts"), "README.md", "README.zh.md")
"""Where a command for a person may stand."""


@pytest.mark.parametrize(("text", "words"), MISTAKES.values(), ids=MISTAKES)
async def test_a_mistake_is_named_in_a_line(
    house: House, text: str, words: tuple[str, ...]
) -> None:
    (house.root / "wrong.yaml").write_text(text, encoding="utf-8")
    told = await house.run(".venv/bin/vixio check --config wrong.yaml", status=2)
    (line,) = [each for each in told.text.splitlines() if "FAILED" in each]
    assert [word for word in words if word not in line] == []
    assert not re.search(r"\(\?|\[a-z|\\[dw.]", line), f"a pattern is shown: {line}"


@pytest.mark.parametrize(("extra", "section"), NEEDS_EXTRA.items(), ids=NEEDS_EXTRA)
async def test_the_command_for_what_is_missing_works(
    house: House, extra: str, section: str
) -> None:
    (house.root / "missing.yaml").write_text(f"{section}\n", encoding="utf-8")
    told = await house.run(".venv/bin/vixio check --config missing.yaml", status=2)
    (line,) = [each for each in told.text.splitlines() if "FAILED" in each]
    command = found(line)
    assert extra in shlex.split(command)[-1]
    await house.run(command)
    told = await house.run(".venv/bin/vixio check --config missing.yaml", status=None)
    (kind,) = re.findall(r"^(\w+):", section)
    (line,) = [each for each in told.text.splitlines() if each.split()[:1] == [kind]]
    assert f"{extra}: " in line
    failed = [each for each in told.text.splitlines() if "FAILED" in each]
    # It is installed, and asks its service: a house without internet has nothing else to say.
    assert failed == ([line] if "the service cannot be reached" in line else [])
    assert (told.status != 0) == bool(failed)


async def test_voices_can_be_listed_without_other_programs(house: House) -> None:
    told = (await house.run(".venv/bin/vixio voices --provider espeak --language fr")).text
    assert "fr-fr" in told


def test_no_line_installs_another_projects_package(house: House) -> None:
    wrong = re.compile(r"pip install [^\n`]*?['\" ]vixio(\[|['\"`\s]|$)")
    found = [
        f"{path.relative_to(house.root)}:{number}: {line.strip()}"
        for place in SHOWN
        for path in _files(house.root / place)
        for number, line in enumerate(path.read_text("utf-8", "ignore").splitlines(), 1)
        if wrong.search(line)
    ]
    assert found == []


async def test_another_project_of_that_name_is_noticed_and_removed_as_told(house: House) -> None:
    wheel = _stranger(house.home)
    await house.run(f".venv/bin/pip install --no-deps {wheel}")
    # From the checkout, Python still finds this project's code.
    told = await house.run(".venv/bin/python -m vixio check --config first.yaml", status=2)
    assert "another project of the same name" in told.text
    told = await house.run(found(told.text))
    assert "setup: done" in told.text
    told = await house.run(".venv/bin/vixio check --config first.yaml")
    assert "FAILED" not in told.text


def found(text: str) -> str:
    """Return the command that a message names."""
    command = COMMAND.search(text)
    assert command, text
    return command[0]


def _files(place: Path) -> Iterator[Path]:
    kinds = {".md", ".py", ".yaml", ".toml", ".sh"}
    if place.is_file():
        yield place
    else:
        yield from (each for each in place.rglob("*") if each.suffix in kinds)


def _stranger(folder: Path) -> Path:
    """Return a wheel as the package index has it under this name: of another project."""
    wheel, info = folder / "vixio-1.4.2-py3-none-any.whl", "vixio-1.4.2.dist-info"
    files = {
        "vixio/__init__.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: vixio\nVersion: 1.4.2\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel
