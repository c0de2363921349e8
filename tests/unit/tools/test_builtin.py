"""The built-in tools."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.tool_turns import FakeDevice
from vixio.core.chunk import Chunk, Farewell
from vixio.core.device import DeviceProfile
from vixio.core.errors import ConfigError
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.session import SessionTools
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.tools.builtin import STATUS_TOOL, VOLUME_TOOL, builtin_source

LOUD = '{"audio_speaker": {"volume": 40}}'


def session(device: FakeDevice | None = None, device_id: str = "a") -> SessionTools:
    opened = ToolRuntime([builtin_source()]).open(device_id, "s")
    if device is not None:
        opened.toolset.replace(DEVICE_SOURCE, [device.tool(STATUS_TOOL), device.tool(VOLUME_TOOL)])
    return opened


async def run(opened: SessionTools, name: str, arguments: str = "{}") -> str:
    found = opened.toolset.find(name)
    assert found is not None
    turn = opened.begin_turn(1, "en")
    return (await turn.run(found, arguments)).for_model()


def now() -> datetime:
    """Return the time in whole seconds, as the tools tell it."""
    return datetime.now(UTC).replace(microsecond=0)


def instant(told: str, hours: int) -> datetime:
    """Return when it was the time ``told`` in a zone that is ``hours`` ahead of UTC."""
    there = datetime.strptime(told, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return there - timedelta(hours=hours)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "asia/tokyo", "Tokyo", " tokyo "])
async def test_the_time_in_another_zone(zone: str) -> None:
    before = now()
    told = await run(session(), "get_time", f'{{"zone": "{zone}"}}')
    assert before <= instant(told, 9) <= now()


async def test_the_date_in_another_zone_and_here() -> None:
    before = datetime.now(UTC)
    there = await run(session(), "get_date", '{"zone": "Pacific/Kiritimati"}')
    here = await run(session(), "get_date")
    around = (before, datetime.now(UTC))  # midnight may fall between the two
    assert there in {str((at + timedelta(hours=14)).date()) for at in around}
    assert here in {str(at.astimezone().date()) for at in around}


@pytest.mark.parametrize("zone", ["Tokio", "../../etc/passwd", "Nowhere/At_All"])
async def test_an_unknown_zone_is_named(zone: str) -> None:
    answer = await run(session(), "get_time", f'{{"zone": "{zone}"}}')
    assert "invalid_arguments" in answer
    assert ("Asia/Tokyo" in answer) == (zone == "Tokio")


@pytest.mark.parametrize(
    ("arguments", "volume"),
    [
        ('{"change": "louder"}', 50),
        ('{"change": "quieter"}', 30),
        ('{"change": "quieter", "by": 90}', 0),
        ('{"change": "louder", "by": -90}', 100),
        ('{"change": "mute"}', 0),
        ('{"change": "maximum"}', 100),
    ],
)
async def test_the_volume_is_relative_to_the_current_one(arguments: str, volume: int) -> None:
    device = FakeDevice()
    device.answers[STATUS_TOOL] = LOUD
    assert await run(session(device), "change_volume", arguments) == f'{{"volume": {volume}}}'
    assert device.asked[-1] == (VOLUME_TOOL, {"volume": volume})


@pytest.mark.parametrize("status", ["", "[]", '{"audio_speaker": {}}', '{"audio_speaker": null}'])
async def test_a_device_that_does_not_report_its_volume(status: str) -> None:
    device = FakeDevice(answer=status)
    answer = await run(session(device), "change_volume", '{"change": "louder"}')
    assert "does not report its volume" in answer
    assert len(device.asked) == 1


async def test_the_volume_is_offered_only_with_a_device_that_supports_it() -> None:
    opened = session()
    assert opened.toolset.find("change_volume") is None
    device = FakeDevice()
    opened.toolset.replace(DEVICE_SOURCE, [device.tool(VOLUME_TOOL)])
    assert opened.toolset.find("change_volume") is None
    opened.toolset.replace(DEVICE_SOURCE, [device.tool(VOLUME_TOOL), device.tool(STATUS_TOOL)])
    assert opened.toolset.find("change_volume") is not None
    opened.toolset.remove(DEVICE_SOURCE)
    assert opened.toolset.find("change_volume") is None


async def test_facts_are_stored_by_device() -> None:
    runtime = ToolRuntime([builtin_source()])
    mine, other = runtime.open("a", "1"), runtime.open("b", "2")
    await run(mine, "remember_fact", '{"fact": "likes tea"}')
    await run(mine, "remember_fact", '{"fact": "has a dog"}')
    assert await run(mine, "recall_facts") == '{"facts": ["likes tea", "has a dog"]}'
    assert await run(other, "recall_facts") == '{"facts": []}'
    assert "not_found" in await run(other, "forget_fact", '{"about": "tea"}')
    assert await run(mine, "forget_fact", '{"about": "tea"}') == '{"forgotten": ["likes tea"]}'
    again = runtime.open("a", "3")
    assert await run(again, "recall_facts") == '{"facts": ["has a dog"]}'
    assert "confirmation_required" in await run(again, "forget_everything", "{}")
    assert await run(again, "recall_facts") == '{"facts": ["has a dog"]}'


async def test_the_devices_of_a_person_share_facts() -> None:
    runtime = ToolRuntime([builtin_source()])
    anna, ben = DeviceProfile(person="a1"), DeviceProfile(person="b2")
    device, person_like = runtime.open("a", "1"), runtime.open("person", "2")
    await run(device, "remember_fact", '{"fact": "likes tea"}')
    device.reconfigure(anna)
    await run(device, "remember_fact", '{"fact": "has a dog"}')
    everything = '{"facts": ["likes tea", "has a dog"]}'
    assert await run(device, "recall_facts") == everything
    other = runtime.open("b", "3", anna)
    assert await run(other, "recall_facts") == everything
    assert await run(other, "forget_fact", '{"about": "tea"}') == '{"forgotten": ["likes tea"]}'
    assert await run(device, "recall_facts") == '{"facts": ["has a dog"]}'
    assert await run(person_like, "recall_facts") == '{"facts": []}'
    # It changes hands: who has it next learns nothing, and neither does it keep what it knew.
    for next_one in (ben, DeviceProfile()):
        device.reconfigure(next_one)
        assert await run(device, "recall_facts") == '{"facts": []}'


async def test_the_conversation_ends_with_a_farewell() -> None:
    opened = session()
    emitted: list[Chunk] = []
    turn = opened.begin_turn(7, "en", emitted.append)
    found = opened.toolset.find("end_conversation")
    assert found is not None
    await turn.run(found, "")
    assert emitted == [Farewell(7)]


@pytest.mark.parametrize("names", [None, ["get_time"], []])
def test_the_settings_choose_the_tools(names: Any) -> None:  # noqa: ANN401 - a list or None
    offered = [tool.name for tool in builtin_source(names).tools()]
    assert offered == names or (names is None and len(offered) == 8)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'get_tine'.*known: get_time"):
        builtin_source(["get_tine"])


async def test_the_default_zone_is_the_assistants() -> None:
    opened = ToolRuntime([builtin_source(time_zone="Asia/Tokyo")]).open("a", "s")
    for zone, hours in (("", 9), ("UTC", 0)):
        before = now()
        told = await run(opened, "get_time", f'{{"zone": "{zone}"}}')
        assert before <= instant(told, hours) <= now()
