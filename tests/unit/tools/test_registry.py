"""``tools.sources``: types of tool sources by name, with their options, in the settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, SecretStr

from tests.support.entry_points import Installed, site_of
from vixio.core.errors import ConfigError
from vixio.core.facts import InMemoryFactStore
from vixio.core.metrics import Counters
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource, ToolSource
from vixio.core.tools.types import ToolDefinition
from vixio.settings import load_settings
from vixio.tools import registry
from vixio.tools.from_settings import make_runtime
from vixio.tools.registry import SourceContext, ToolSourceFactory
from vixio.tools.source_settings import SourceSettings


class KitchenSettings(SourceSettings):
    url: str = "http://kitchen"
    token: SecretStr = SecretStr("")
    ovens: int = Field(default=1, ge=1, le=4)


async def bake() -> str:
    return "warm"


class Kitchen(FixedSource):
    def __init__(self, settings: KitchenSettings, context: SourceContext) -> None:
        ovens = [f"bake_{number}" for number in range(1, settings.ovens + 1)]
        tools = [ToolDefinition(name, "Bake.", caller=FunctionCaller(bake)) for name in ovens]
        super().__init__(context.name, tools)
        self.settings = settings
        self.context = context


def _create(settings: KitchenSettings, context: SourceContext) -> ToolSource:
    if settings.url == "refused":
        raise ConfigError("url: there is nothing at refused")
    return Kitchen(settings, context)


FACTORY = ToolSourceFactory(settings_model=KitchenSettings, create=_create)


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    monkeypatch.setitem(sys.modules, "acme_kitchen", sys.modules[__name__])
    with site_of(tmp_path, registry.ENTRY_POINT_GROUP, monkeypatch) as site:
        site.add("acme-kitchen", kitchen="acme_kitchen:FACTORY")
        site.add("broken", broken="acme_no_such_module:FACTORY")
        yield site


def runtime(directory: Path, text: str, **environment: str) -> ToolRuntime:
    path = directory / "vixio.yaml"
    path.write_text(text, encoding="utf-8")
    return make_runtime(load_settings(path, environment), Counters(), facts=InMemoryFactStore())


def kitchens(runtime: ToolRuntime) -> list[Kitchen]:
    return [source for source in runtime.sources if isinstance(source, Kitchen)]


@pytest.mark.parametrize("type", ["builtin", "local", "mcp", "openapi", "rest", "kitchen"])
def test_every_type_has_a_factory(type: str) -> None:
    factory = registry.resolve(type)
    assert issubclass(factory.settings_model, BaseModel)
    assert factory.settings_model.model_config.get("extra") == "forbid"
    assert type in registry.types()


def test_a_type_of_another_distribution_gets_its_options(tmp_path: Path) -> None:
    made = runtime(
        tmp_path,
        """
assistant: {time_zone: Asia/Tokyo}
tools:
  builtin: false
  sources:
    - type: kitchen
    - {type: kitchen, name: cellar, token: "${TOKEN}", ovens: 2}
    - {type: kitchen, name: attic, enabled: false}
""",
        TOKEN="t0ps3cret",
    )
    first, second = kitchens(made)
    assert (first.name, first.settings) == ("kitchen", KitchenSettings())
    assert (second.name, second.settings.token.get_secret_value()) == ("cellar", "t0ps3cret")
    assert (second.context.place, second.context.time_zone) == ("tools.sources[1]", "Asia/Tokyo")
    assert second.context.facts is not None
    assert second.context.counters is made.counters
    tools = made.open("d", "s").toolset.definitions()
    assert [tool.alias for tool in tools] == ["bake_1", "cellar_bake_1", "bake_2"]


async def test_the_types_with_sections_of_their_own_may_stand_there_too(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text('def own() -> None:\n    """Do."""\n', encoding="utf-8")
    made = runtime(
        tmp_path,
        f"""
tools:
  builtin: false
  sources:
    - {{type: builtin, name: clock, tools: [get_time]}}
    - {{type: local, name: own, folder: {tmp_path}}}
    - {{type: mcp, name: files, command: npx}}
    - type: rest
      tools: [{{name: tide, description: Tell., url: "http://h/x"}}]
    - {{type: openapi, name: lamps, document: lamps.yaml, operations: [getLamp]}}
""",
    )
    assert [source.name for source in made.sources] == [
        *("local", "clock", "own", "files", "rest", "lamps"),
    ]
    sources = {source.name: source for source in made.sources}
    await sources["own"].start()
    named = {name: [tool.name for tool in sources[name].tools()] for name in ("clock", "own")}
    assert named == {"clock": ["get_time"], "own": ["own"]}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{type: kitchn}", ":3: tools.sources[0].type: there is no tool source 'kitchn', did you "),
        (
            "{type: kitchn}",
            "knowledge, local, mcp, media, openapi, ready, rest; packages can add others)",
        ),
        ("{type: broken}", "tools.sources[0].type: No module named 'acme_no_such_module'; to "),
        ("{type: broken}", "install what it needs: pip install --upgrade broken"),
        ("{name: x}", "tools.sources[0].type: is required"),
        ("{type: 5}", "tools.sources[0].type: there is no tool source '5'"),
        ("kitchen", "tools.sources[0]: expected a mapping"),
        ("{type: kitchen, ovens: 9}", "tools.sources[0].ovens: expected a number from 1 to 4"),
        ("{type: kitchen, token: [x]}", "tools.sources[0].token: expected"),
        ("{type: kitchen, tokn: x}", "tools.sources[0].tokn: there is no such key, did you mean "),
        ("{type: kitchen, name: a b}", "tools.sources[0].name: expected a name of letters"),
        ("{type: kitchen, name: device}", "other than client, confirm, device; found 'device'"),
        ("{type: kitchen, name: local}", "tools.sources[0] and tools are both named local"),
        ("{type: kitchen, url: refused}", "tools.sources[0]: url: there is nothing at refused"),
        ("{type: mcp, name: x}", "tools.sources[0]: expected either command"),
    ],
)
def test_a_mistake_is_one_line_that_names_its_key(tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        runtime(tmp_path, f"tools:\n  sources:\n    - {entry}\n")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_secret_is_not_shown_in_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        runtime(tmp_path, "tools: {sources: [{type: kitchen, token: {a: t0ps3cret}}]}")
    assert "t0ps3cret" not in str(caught.value)


def test_the_console_has_a_word_for_each_type() -> None:
    words = Path(registry.__file__).parents[1] / "web/console/static/words/server.js"
    text = words.read_text(encoding="utf-8")
    own = set(registry.types()) - {"kitchen", "broken"}
    assert {each for each in own if text.count(f'"server.type.{each}"') != 2} == set()
