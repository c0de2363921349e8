"""Several providers of a kind in a list: the provider that they make, and mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from vixio.cli.diagnostics.check import check_all
from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.providers.fallback.asr import FallbackASRProvider
from vixio.providers.fallback.tts import FallbackTTSProvider
from vixio.providers.fallback.vision import FallbackVisionProvider
from vixio.providers.registry import ProviderFactory, ProviderKind
from vixio.settings import Settings, load_settings
from vixio.settings.provider import AgentSection, ASRSection, ProviderSection, TTSSection

ROOT = Path(__file__).resolve().parents[3]
OPENAI = "{name: openai, model: m, base_url: 'http://127.0.0.1:9/v1', api_key: k}"
LISTS = f"""
timeouts: {{asr: 10}}
asr:
  - name: pocketsphinx
  - name: pocketsphinx
    rejection: -80
tts:
  - voice: en-gb
  - name: espeak
vision: [{OPENAI}, {OPENAI}]
"""


def load(directory: Path, text: str) -> Settings:
    path = directory / "vixio.yaml"
    path.write_text(text, encoding="utf-8")
    return load_settings(path, {})


def test_what_services_do_may_be_a_list(tmp_path: Path) -> None:
    settings = load(tmp_path, LISTS)
    assert settings.asr.name == "pocketsphinx"  # the first is what the section is
    assert [each.options.model_dump()["rejection"] for each in settings.asr.each()] == [-100, -80]
    assert settings.asr.patience == 8.0
    assert settings.vision is not None
    asr, tts = settings.asr.create(), settings.tts.create()
    assert isinstance(asr, FallbackASRProvider)
    assert isinstance(tts, FallbackTTSProvider)
    assert isinstance(settings.vision.create(), FallbackVisionProvider)
    assert asr.name == "pocketsphinx, pocketsphinx"


def test_the_documents_example_loads(tmp_path: Path) -> None:
    text = (ROOT / "docs/providers.md").read_text(encoding="utf-8")
    chapter = text.partition("## Fallback lists")[2].partition("\n## ")[0]
    (example,) = re.findall(r"```yaml\n(.*?)```", chapter, re.DOTALL)
    settings = load(tmp_path, example.replace("${OPENAI_API_KEY}", "k"))
    assert [each.name for each in settings.asr.each()] == ["openai", "pocketsphinx"]
    assert [each.name for each in settings.tts.each()] == ["openai", "espeak"]


def test_a_list_of_one_is_that_one(tmp_path: Path) -> None:
    assert isinstance(load(tmp_path, "tts: [{name: espeak}]").tts.create(), EspeakTTSProvider)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "asr:\n- name: pocketsphinx\n- name: pocketsphinx\n  rejction: 1",
            ":4: asr[1].rejction: there is no such key, did you mean 'rejection'?",
        ),
        (
            "asr:\n- name: pocketsphinx\n- workers: 0",
            ":3: asr[1].workers: expected a number from 1 to 32, found 0",
        ),
        (
            "asr:\n- name: pocketsphinx\n- decoders: 0",
            ":3: asr[1].decoders: expected a number from 1 to 16, found 0",
        ),
        (
            "tts:\n- name: espeak\n- name: espek",
            ":3: tts[1].name: there is no tts provider 'espek', did you mean 'espeak'?",
        ),
        ("asr: [{}, {name: 7}]", ":1: asr[1].name: expected the name of a provider, found 7"),
        ("vad: [{}]", ":1: vad: write one detector: a list of them has no use, since they run on"),
        ("asr: []", ":1: asr: expected a provider or several, found an empty list"),
        ("asr: [[]]", ":1: asr: a list must not contain a list: write its providers here"),
        ("tts: [{}, espeak]", ":1: tts[1]: expected a mapping (`key: value` lines), found 'es"),
        ("agent: [{}]", ":1: agent: write `name: fallback` and the list under `models`"),
        ("tts: {others: []}", ":1: tts.others: there is no such key"),
        (
            f"vision: [{OPENAI}, {{name: openai, modl: x}}]",
            ":1: vision[1].modl: there is no such key, did you mean 'model'?",
        ),
    ],
)
def test_a_mistake_names_the_element(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert str(caught.value).removeprefix(str(tmp_path / "vixio.yaml")).startswith(message)


def test_a_secret_in_a_list_is_never_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"vision\[1\]\.api_key: .*found a secret"):
        load(tmp_path, f"vision: [{OPENAI}, {{name: openai, model: m, api_key: [hunter2]}}]")


class NoOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A voice ``missing`` that cannot be made."""
    resolve = registry.resolve

    def create(_: BaseModel) -> object:
        raise ProviderUnavailable("missing", "pip install it")

    def resolved(kind: ProviderKind, name: str) -> ProviderFactory[BaseModel, object]:
        return ProviderFactory(NoOptions, create) if name == "missing" else resolve(kind, name)

    monkeypatch.setattr(registry, "resolve", resolved)


@pytest.mark.usefixtures("missing")
async def test_one_that_cannot_be_made_does_not_stop_the_others(tmp_path: Path) -> None:
    tts = load(tmp_path, "tts: [{name: missing}, {name: espeak}]").tts.create()
    assert isinstance(tts, FallbackTTSProvider)
    await tts.start()
    assert [piece async for piece in tts.synthesize("hello")]
    assert tts.stats()[0]["state"] == "open"
    await tts.close()
    with pytest.raises(ProviderUnavailable, match="pip install it"):
        load(tmp_path, "tts: [{name: missing}, {name: missing}]").tts.create()


@pytest.mark.slow
@pytest.mark.usefixtures("missing")
async def test_the_check_has_a_line_for_each(tmp_path: Path) -> None:
    path = tmp_path / "vixio.yaml"
    path.write_text("server: {port: 0, http_port: 0}\ntts: [{name: missing}, {name: espeak}]")
    lines: dict[str, tuple[bool, str]] = {}
    ok = await check_all(path, "x", lambda part: lines.update({part.name: (part.ok, part.detail)}))
    assert not ok
    assert "tts" not in lines
    assert lines["tts[0]"] == (False, "missing: pip install it")
    assert lines["tts[1]"][1].startswith("espeak: ")
    assert lines["vad"][0]


def test_equal_sections_are_one_choice() -> None:
    """The provider pool shares the providers of equal sections."""
    plain, same, other = (
        TTSSection.model_validate(given)
        for given in ({"name": "espeak"}, {"name": "espeak"}, {"name": "espeak", "voice": "de"})
    )
    assert len({plain, same, other}) == 2
    options = {"name": "openai", "api_key": "k", "extra_body": {"a": {"b": [1]}}}
    assert len({AgentSection.model_validate(options) for _ in range(2)}) == 1
    listed = [ASRSection.model_validate([{"name": "pocketsphinx"}] * 2) for _ in range(2)]
    assert len({*listed, ASRSection.model_validate({"name": "pocketsphinx"})}) == 2


def test_the_limits_of_providers_stay_below_those_of_the_server() -> None:
    settings = Settings.model_validate(
        {
            "timeouts": {"asr": 5, "tts": 4, "vision": 10},
            "asr": {"name": "openai", "api_key": "k"},
            "tts": [{"name": "openai", "api_key": "k"}, {"name": "openai", "api_key": "k"}],
            "vision": {"name": "openai", "api_key": "k", "timeout": 9},
        }
    )
    assert settings.vision is not None

    def timeout(section: ProviderSection) -> float:
        found: float = section.options.model_dump()["timeout"]
        return found

    assert timeout(settings.asr) == pytest.approx(4.0)
    assert [timeout(each) for each in settings.tts.each()] == pytest.approx([3.2, 3.2])
    assert timeout(settings.vision) == 9
    with pytest.raises(ValueError, match=r"timeout \(5 s\) must be below timeouts.asr \(5 s\)"):
        Settings.model_validate({"timeouts": {"asr": 5}, "asr": {"name": "openai", "timeout": 5}})
