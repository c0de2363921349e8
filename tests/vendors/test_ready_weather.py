"""The weather by Open-Meteo's stand-in: places, days, what is kept, and what goes wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from tests.vendors.ready import at, ready
from vixio.core.errors import ToolError
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.ready.service import FORBIDDEN, HUGE, ODD, ReadyService


@pytest_asyncio.fixture
async def service() -> AsyncIterator[ReadyService]:
    async with ReadyService() as made:
        yield made


async def test_now_and_tomorrow(service: ReadyService) -> None:
    async with ready(at(service)) as tools:
        said = await tools.said("get_weather", place="Berlin")
        assert said == (
            "Berlin: rain, 12 degrees. Today 8 to 15 degrees. The chance of rain is 80 percent."
        )
        assert tools.shown == ["Berlin 12°, rain"]
        said = await tools.said("get_weather", place="Berlin", in_days=1)
        assert said == "Berlin, tomorrow: overcast, 7 to 15 degrees."
        said = await tools.said("get_weather", place="Berlin", in_days=4)
        day = datetime.now(UTC) + timedelta(4)
        assert said == f"Berlin, {day:%Y-%m-%d}: thunderstorms, 17 to 25 degrees."
        result = await tools.call("get_weather", place="Berlin")
        assert '"feels_like": 10' in (result.result or "")


async def test_the_second_answer_asks_nobody(service: ReadyService) -> None:
    async with ready(at(service)) as tools:
        first = await tools.said("get_weather", place="Berlin")
        asked = dict(service.requests)
        assert asked == {"geocode": 1, "forecast": 1}
        assert await tools.said("get_weather", place=" BERLIN ") == first
        assert await tools.said("get_weather", place="Berlin", in_days=2)
        assert service.requests == asked


async def test_where(service: ReadyService) -> None:
    async with ready(at(service, place="Paris, Texas")) as tools:
        await tools.said("get_weather")
        assert service.asked[-1]["latitude"] == "33.66094"
        tools.place = "Berlin"
        assert (await tools.said("get_weather")).startswith("Berlin: ")
        tools.place = "loft"  # a room
        assert (await tools.said("get_weather")).startswith("Paris: ")
        tools.language = "zh-CN"
        assert (await tools.said("get_weather", place="北京")).startswith("北京现在有雨，12度。")
        assert (
            await tools.said("get_weather", place="亚特兰蒂斯")
            == "抱歉，我没有找到叫亚特兰蒂斯的地方。"
        )
    async with ready(at(service)) as tools:
        assert (await tools.said("get_weather")).startswith("For which place?")


async def test_units_and_a_key(service: ReadyService) -> None:
    async with ready(at(service, units="imperial", api_key="k")) as tools:
        await tools.said("get_weather", place="Berlin")
    forecast = service.asked[-1]
    assert forecast["temperature_unit"] == "fahrenheit"
    assert [asked["apikey"] for asked in service.asked] == ["k", "k"]


SAID = {
    Trouble.STALL: "Sorry, the weather service does not answer in time.",
    Trouble.CUT: "Sorry, the weather service cannot be reached just now.",
    Trouble.BUSY: "Sorry, the weather service was asked too often. Please try again later.",
    Trouble.ERROR: "Sorry, the weather service sends no usable answer.",
    Trouble.GARBAGE: "Sorry, the weather service sends no usable answer.",
    FORBIDDEN: "Sorry, the weather service refuses the access. Its key or address may be wrong.",
    ODD: "Sorry, the weather service sends no usable answer.",
    HUGE: "Sorry, the weather service sends no usable answer.",
}


@pytest.mark.parametrize(("trouble", "said"), SAID.items())
async def test_what_goes_wrong_is_one_sentence(
    service: ReadyService, trouble: str, said: str
) -> None:
    async with ready(at(service, timeout=0.3 if trouble == Trouble.STALL else 20)) as tools:
        service.fail(trouble)
        assert await tools.said("get_weather", place="Berlin") == said
        assert "Berlin: rain" in await tools.said("get_weather", place="Berlin")
        service.fail(trouble)
        assert await tools.said("get_weather", place="Paris, Texas") == said
        tools.language = "zh"
        service.fail(trouble)
        assert "天气服务" in await tools.said("get_weather", place="Beijing")


async def test_a_service_that_is_not_there(service: ReadyService) -> None:
    await service.stop()
    async with ready(at(service)) as tools:
        assert "cannot be reached" in await tools.said("get_weather", place="Berlin")
        with pytest.raises(ToolError, match="weather: "):
            await tools.source.look()
        await service.start()
        assert "weather" in await tools.source.look()
        assert "Berlin" in await tools.said("get_weather", place="Berlin")
