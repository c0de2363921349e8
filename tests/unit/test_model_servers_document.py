"""docs/model-servers.md shows settings that load, and presets and parts that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vixio.settings import load_settings

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/model-servers.md").read_text(encoding="utf-8")
BLOCKS = [
    block
    for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    if not block.startswith("# config.yaml of LiteLLM")
]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_example_of_settings_loads(number: int, tmp_path: Path) -> None:
    path = tmp_path / "vixio.yaml"
    path.write_text(BLOCKS[number], encoding="utf-8")
    names = re.findall(r"\$\{(\w+)\}", BLOCKS[number])
    load_settings(path, dict.fromkeys(names, "k"))


def test_the_presets_that_it_names_are_there() -> None:
    named = set(re.findall(r"`(config/[^`]+)`", TEXT))
    assert named
    assert {each for each in named if not ROOT.joinpath(each).is_file()} == set()


def test_what_it_says_of_ray_serve_is_the_preset() -> None:
    """The first block is the preset's recogniser and voice, but for the machine."""
    preset = load_settings(ROOT / "config/ray-serve.yaml", {})
    block = BLOCKS[0].replace("192.168.1.30", "127.0.0.1")
    for part in (preset.asr, preset.tts):
        for _, each in part.parts():
            for key in ("model", "base_url"):
                if each.name == "openai":
                    assert f"{key}: {each.options.model_dump()[key]}" in block
