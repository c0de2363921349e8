"""Every quirk of every table, with every agent provider: a whole turn, and the requests in it."""

from __future__ import annotations

import pytest

from tests.quirks import arguments, names, refusals, streams, texts
from tests.quirks.agents import AGENTS, applies, script
from tests.quirks.quirk import TOOLS, Quirk
from tests.quirks.service import Service, offered
from tests.support.tool_turns import FakeDevice, Talk, returned, spoken
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.toolset import DEVICE_SOURCE

TABLES = (streams, names, arguments, refusals, texts)
MARKS = {"litellm": [pytest.mark.filterwarnings("ignore")]}  # the warnings of LiteLLM itself
ROWS = [
    pytest.param(
        agent,
        quirk,
        id=f"{agent}-{table.__name__.rpartition('.')[2]}-{quirk.name}",
        marks=MARKS.get(agent, ()),
    )
    for table in TABLES
    for quirk in table.QUIRKS
    for agent in AGENTS
    if applies(agent, quirk)
]


def test_every_row_has_a_name_of_its_own() -> None:
    ids = [param.id for param in ROWS]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(("agent", "quirk"), ROWS)
async def test_a_quirk(agent: str, quirk: Quirk) -> None:
    device = FakeDevice()
    async with Service(quirk.dialect) as service:
        backend = AGENTS[agent](service)
        try:
            async with Talk(ToolRuntime(), backend.create()) as talk:
                tools = {**TOOLS, **quirk.tools}
                talk.tools.toolset.replace(
                    DEVICE_SOURCE, [device.tool(name, schema) for name, schema in tools.items()]
                )
                await _turn(agent, quirk, service, device, talk)
                await _next_turn(agent, quirk, service, talk)
        finally:
            await backend.close()


async def _turn(agent: str, quirk: Quirk, service: Service, device: FakeDevice, talk: Talk) -> None:
    service.script(*script(agent, quirk))
    chunks = await talk.turn("make it so")
    assert " ".join(spoken(chunks)) == quirk.said, service.refused
    assert device.asked == list(quirk.made)
    results = [result.output for result in returned(chunks)]
    assert len(results) == max(len(quirk.results), len(quirk.made))
    for result, part in zip(results, quirk.results, strict=False):
        assert part in result
    assert len(service.requests) == quirk.requests
    names = offered(service.requests[-1])
    assert not set(quirk.left_out) & set(names)
    tools = min(len(TOOLS) + len(quirk.tools), 128)
    assert len(names) == tools - len(quirk.left_out), "a tool is missing that is accepted"


async def _next_turn(agent: str, quirk: Quirk, service: Service, talk: Talk) -> None:
    """The history is accepted, and what was refused is not sent again."""
    refused = len(service.refused)
    service.script(*script(agent, Quirk("", said="Yes.")))
    assert spoken(await talk.turn("really?")) == ["Yes."], service.refused
    assert len(service.refused) == refused
    assert len(service.requests) == quirk.requests + 1
    assert not set(quirk.left_out) & set(offered(service.requests[-1]))
