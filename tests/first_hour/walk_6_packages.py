"""Parts of one's own: the templates as their READMEs say, and a voice that hangs is named."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.first_hour.house import CHECKOUT, House


@dataclass(frozen=True)
class Template:
    """What its user writes and says, and how the answer begins."""

    settings: dict[str, Any]
    said: str = "hello"
    answer: str = "Hello"
    files: dict[str, str] = field(default_factory=dict)


TEMPLATES = {
    "provider_template": Template({"tts": {"name": "tones"}}),
    "station_template": Template(
        {"stations": [{"name": "words", "replace": {"Hello": "Hi"}}]}, answer="Hi"
    ),
    "tool_source_template": Template(
        {"tools": {"sources": [{"type": "sheet", "name": "house", "file": "./house.txt"}]}},
        said="what is the pool temperature",
        answer="The pool temperature is 24 degrees.",
        files={"house.txt": "pool temperature: 24 degrees\n"},
    ),
}


def test_no_template_is_forgotten() -> None:
    there = {path.name for path in (CHECKOUT / "examples").glob("*_template")}
    assert there == set(TEMPLATES)


@pytest.mark.parametrize(("folder", "template"), TEMPLATES.items(), ids=TEMPLATES)
async def test_a_package_of_ones_own_serves(house: House, folder: str, template: Template) -> None:
    readme = (house.root / "examples" / folder / "README.md").read_text("utf-8")
    (line,) = [line for line in readme.splitlines() if "pip install" in line]
    command = line.split("  ")[0]
    await house.run(f"cd examples/{folder} && {command}")
    for name, text in template.files.items():
        (house.root / name).write_text(text, encoding="utf-8")
    async with (
        house.serving("own.yaml", template.settings) as (_, address),
        address.device() as device,
    ):
        check = await house.run(".venv/bin/vixio check --config own.yaml")
        assert "FAILED" not in check.text
        reply = await device.type_text(template.said, timeout=60)
        assert reply.text.startswith(template.answer)
        assert reply.heard.duration > 0.2


async def test_a_voice_that_hangs_fails_by_name(house: House) -> None:
    """A naive one waits for an engine that never answers, and keeps the event loop meanwhile."""
    folder = house.root / "examples" / "provider_template"
    voice, contract = folder / "vixio_tones" / "tts.py", folder / "tests" / "test_contract.py"
    before = {file: file.read_text("utf-8") for file in (voice, contract)}
    _change(
        voice, "            await asyncio.sleep(0)\n", "            __import__('time').sleep(600)\n"
    )
    _change(contract, "limit = 30.0", "limit = 3.0")
    try:
        command = f"cd {folder} && ../../.venv/bin/pip install -e '.[dev]' && "
        command += "../../.venv/bin/pytest -o timeout=20"
        told = (await house.run(command, status=None)).text
    finally:
        for file, text in before.items():
            file.write_text(text, "utf-8")
    assert " failed" in told.splitlines()[-1], told
    assert "the event loop was blocked" in told, told


def _change(file: Any, old: str, new: str) -> None:  # noqa: ANN401 - a path
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
