"""What fails or is slow: the health page says so, the user hears why, and it mends by itself."""

from __future__ import annotations

import asyncio
import re

from firmware_test_client import Frame
from tests.first_hour.house import READY, House
from tests.first_hour.walk_1_start import health
from tests.support.llm_server import LLMServer, Stall, failure, listing, text


def is_sentence(frame: Frame) -> bool:
    """Return whether the device is told what is spoken next."""
    return frame.body is not None and frame.body.get("state") == "sentence_start"


def model(llm: LLMServer) -> dict[str, object]:
    """Return settings with this model."""
    section = {"name": "openai", "model": "tiny", "base_url": llm.base_url, "api_key": "sk-x"}
    return {"agent": section}


async def test_a_refused_key_is_known_and_said_until_it_is_accepted(house: House) -> None:
    async with LLMServer() as llm:
        llm.models = failure(401, "Incorrect API key provided")
        async with house.serving("faults.yaml", model(llm)) as (person, address):
            await person.expect("api_key")
            page = await health(address)
            assert page["status"] == "degraded"
            assert page["unusable"] == ["agent"]
            assert READY not in person.seen
            async with address.device() as device:
                llm.script(failure(401, "Incorrect API key provided"))
                said = (await device.type_text("hello", timeout=60)).text
                assert "key" in said, said
                llm.models = listing("tiny")
                await person.expect("provider works again")  # it is tried beside the turns
                assert (await health(address))["status"] == "ok"
                llm.script(text("Hello!"))
                assert (await device.type_text("hello", timeout=60)).text == "Hello!"


async def test_a_slow_model_is_not_silence(house: House) -> None:
    async with LLMServer() as llm:
        llm.models = listing("tiny")
        stall = Stall()
        async with (
            house.serving("faults.yaml", model(llm)) as (_, address),
            address.device() as device,
        ):
            llm.script(text(stall, "Here it is."))
            answered = asyncio.create_task(device.type_text("tell me something long", timeout=120))
            await device.wait_for_frame("tts", where=is_sentence, timeout=60)
            assert not stall.go.is_set()  # it speaks, and the model has not answered yet
            stall.go.set()
            assert (await answered).text.endswith(" Here it is.")


async def test_a_model_that_is_out_is_said_to_be_out(house: House) -> None:
    async with LLMServer() as llm:
        llm.models = listing("tiny")
        async with (
            house.serving("faults.yaml", model(llm)) as (_, address),
            address.device() as device,
        ):
            llm.script(*[failure(503, "overloaded")] * 8)
            said = (await device.type_text("hello", timeout=120)).text
            assert re.fullmatch(r"Sorry, the language model (is too busy|has a problem).*", said), (
                said
            )
