"""docs/models.md says what there is: reasons, names, presets, and settings that load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vixio.core.instructions import NAMES
from vixio.core.messages import REASONS, reason
from vixio.settings import load_settings

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/models.md").read_text(encoding="utf-8")
BLOCKS = [
    block
    for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    if not block.startswith("# config.yaml of LiteLLM")
]
SERVERS = TEXT.partition("\n## Models on other machines\n")[2]


def test_every_reason_and_every_name_is_explained() -> None:
    for key in REASONS:
        assert f"| {reason(key, 'en')} · {reason(key, 'zh')} |" in TEXT
    for name in NAMES:
        assert f"`{{{name}}}`" in TEXT


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_example_loads(number: int, tmp_path: Path) -> None:
    path = tmp_path / "vixio.yaml"
    path.write_text(BLOCKS[number], encoding="utf-8")
    names = re.findall(r"\$\{(\w+)\}", BLOCKS[number])
    load_settings(path, dict.fromkeys(names, "k"))


def test_its_list_of_models_is_the_one_of_the_configuration() -> None:
    listed = load_settings(ROOT / "config/fallback.yaml", {"OPENAI_API_KEY": "k"})
    models = listed.agent.options.model_dump()["models"]
    assert [model["name"] for model in models] == ["openai", "openai", "phrasebook"]


def test_the_presets_that_it_names_are_there() -> None:
    named = set(re.findall(r"`(config/[^`]+)`", SERVERS))
    assert named
    assert {each for each in named if not ROOT.joinpath(each).is_file()} == set()


def test_what_it_says_of_ray_serve_is_the_preset() -> None:
    """The first block is the preset's recogniser and voice, but for the machine."""
    preset = load_settings(ROOT / "config/ray-serve.yaml", {})
    (block, *_) = re.findall(r"```yaml\n(.*?)```", SERVERS, re.DOTALL)
    block = block.replace("192.168.1.30", "127.0.0.1")
    for part in (preset.asr, preset.tts):
        for _, each in part.parts():
            for key in ("model", "base_url"):
                if each.name == "openai":
                    assert f"{key}: {each.options.model_dump()[key]}" in block
