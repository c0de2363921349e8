"""The section ``tools`` of the settings, and the runtime made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tool_turns import FakeDevice
from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.settings import Settings, load_settings
from vixio.tools.from_settings import make_runtime


def runtime(directory: Path, text: str) -> ToolRuntime:
    path = directory / "vixio.yaml"
    path.write_text(text, encoding="utf-8")
    return make_runtime(load_settings(path, {}), Counters())


def offered(made: ToolRuntime) -> list[str]:
    session = made.open("aa:bb", "s")
    device = FakeDevice()
    names = ("self.door.open", "self.lamp", "self.reboot")
    session.toolset.replace(DEVICE_SOURCE, [device.tool(name) for name in names])
    return [tool.name for tool in session.toolset.definitions()]


async def test_the_default_offers_built_in_tools_and_the_devices() -> None:
    assert offered(make_runtime(Settings(), Counters())) == [
        *("get_time", "get_date", "end_conversation", "remember_fact", "recall_facts"),
        *("forget_fact", "forget_everything", "self.door.open", "self.lamp", "self.reboot"),
    ]


async def test_every_key_reaches_the_runtime(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text('def own() -> None:\n    """Do."""\n', encoding="utf-8")
    made = runtime(
        tmp_path,
        f"""
        tools:
          builtin: [get_date, get_time]
          modules: [vixio.tools.builtin:end_conversation]
          folder: {tmp_path}
          entry_points: false
          allow: ["get_*", "local/*", "device/*"]
          deny: [self.reboot]
          confirm: [self.door.*]
          options:
            self.*: {{timeout: 3, retries: 2, idempotent: true, backoff: 1, confirm: false,
                     concurrency: 4, max_result_chars: 500}}
          concurrency: {{local: 2}}
          log_content: true
        """,
    )
    await made.start()
    assert offered(made) == [
        *("get_date", "get_time", "end_conversation", "own", "self.door.open", "self.lamp"),
    ]
    session = made.open("aa:bb", "s")
    session.toolset.replace(DEVICE_SOURCE, [FakeDevice().tool("self.door.open")])
    (door,) = session.toolset.source(DEVICE_SOURCE)
    options = door.options
    assert (options.timeout, options.retries, options.idempotent, options.backoff) == (
        3,
        2,
        True,
        1,
    )
    assert (options.confirm, options.concurrency, options.max_result_chars) == (True, 4, 500)
    assert made.settings.source_concurrency == {"local": 2}
    assert made.settings.log_content


async def test_built_in_tools_can_be_turned_off(tmp_path: Path) -> None:
    assert offered(runtime(tmp_path, "tools: {builtin: false}"))[0] == "self.door.open"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("builtin: [get_tiem]", "tools.builtin: there is no built-in tool 'get_tiem'"),
        ("options: {a: {tiemout: 3}}", "tools.options.a.tiemout: there is no such key"),
        ("options: {a: {timeout: 0}}", "tools.options.a.timeout: expected"),
        ("concurrency: {web: none}", "tools.concurrency.web: expected"),
        ("allow: self", "tools.allow: expected a list"),
    ],
)
def test_a_mistake_is_one_line_that_names_its_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        runtime(tmp_path, f"tools: {{{text}}}")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
