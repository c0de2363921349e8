"""Set up by a person who answers questions: free speech, a natural voice, a model."""

from __future__ import annotations

import re
from pathlib import Path

from examples.demos.natural_words import share_heard
from firmware_test_client.pcm import read_wav
from tests.e2e.person import Person
from tests.first_hour.house import PATIENCE, READY, Address, House
from tests.support.llm_server import Call, LLMServer, calls, listing, text

QUESTION = "please tell me a story about a little dog"
ANSWER = ("There was once a little dog ", "that liked to run in the rain.")


async def spoken(house: House, words: str, name: str, section: str) -> Path:
    """Return a WAV with ``words`` in the voice of ``section``."""
    (house.root / f"{name}.yaml").write_text(f"{section}\n", encoding="utf-8")
    file = house.root / f"{name}.wav"
    await house.run(f".venv/bin/vixio say --config {name}.yaml --out {file.name} '{words}'")
    return file


async def test_from_the_questions_to_an_answer(house: House) -> None:
    address = house.write("vixio.yaml", {})
    before = house.before()
    async with LLMServer() as llm:
        llm.models = listing("tiny", "large")
        async with house.at_terminal(".venv/bin/vixio setup") as person:
            person.patience = PATIENCE
            await person.answer("Which language", "1")
            await person.expect("What shall it understand?")
            await person.expect("commands only")
            await person.answer("Choose", person.number("Moonshine"))
            await person.expect("another server")
            await person.answer("Choose", person.number("another server"))
            await person.answer("Its address", llm.base_url)
            await person.answer("The key for", "sk-of-my-own")
            await person.answer("Which model?", "1")
            await person.expect("eSpeak: ")
            joe = person.number("Joe: ")
            await person.answer("Choose", f"h{joe}")  # heard before it is chosen
            await person.expect("must be installed first")
            person.type("y")
            heard = re.search(r"listen to (\S+)", await person.line("listen to"))
            assert heard, person.seen
            assert 1_000 < read_wav(Path(heard[1])).rms < 10_000
            await person.answer("Choose", joe)
            llm.script(text("I am here."))  # for the trial
            await person.answer("Which tools besides", "")
            await person.expect("Trying every part")
            await person.expect("Write it?")
            person.type("y")
            await person.expect("wrote vixio.yaml")
            await person.answer("Make `vixio` a command", "")
            assert "FAILED" not in person.seen
            house.took("vixio setup, English: Moonshine and joe", before)
            assert address.ota in await person.line(address.ota)
            await person.expect("█▀")  # the QR code
            await person.expect("Waiting for your device")
            await _converse(house, person, address, llm)
            await person.interrupt()
            assert await person.left() == 0
            assert "sk-of-my-own" not in person.seen
            assert "Traceback" not in person.seen
        await _run_again(house, llm)
    assert "sk-of-my-own" not in (house.root / "vixio.yaml").read_text("utf-8")
    assert (house.root / ".env").stat().st_mode & 0o077 == 0


async def _converse(house: House, person: Person, address: Address, llm: LLMServer) -> None:
    """Have the device ask freely, and use a tool, in a natural voice."""
    joe = "tts: {name: piper}"
    question = await spoken(house, QUESTION, "question", joe)
    command = await spoken(house, "Please make it a bit darker in here.", "command", joe)
    async with address.device() as device:
        await person.expect("Your device is here")
        llm.script(text(*ANSWER))
        reply = await device.ask(question, timeout=120)
        assert share_heard(QUESTION, heard_by(llm), "en") > 0.8, heard_by(llm)
        assert reply.text == "".join(ANSWER)
        assert reply.heard.duration > 2
        await person.expect(f"Vixio: {reply.text}")
        tool = "self.screen.set_brightness"
        offered = next(each for each in names(llm) if each.endswith("set_brightness"))
        llm.script(calls(Call("c1", offered, '{"brightness": 20}')), text("It is darker now."))
        reply = await device.ask(command, timeout=120)
        assert [call.name for call in device.mcp.calls] == [tool]
        assert device.brightness == 20
        assert reply.text == "It is darker now."


def names(llm: LLMServer) -> list[str]:
    """Return the tools of the latest request."""
    return [tool["function"]["name"] for tool in llm.requests[-1]["tools"]]


def heard_by(llm: LLMServer) -> str:
    """Return what the user said, as the model got it last."""
    (*_, last) = [each for each in llm.requests[-1]["messages"] if each["role"] == "user"]
    return str(last["content"])


async def _run_again(house: House, llm: LLMServer) -> None:
    """The present answers are proposed, and what is there serves by itself."""
    before = (house.root / "vixio.yaml").read_bytes()
    llm.script(text("Still here."))
    told = await house.run(".venv/bin/vixio setup --yes --no-wait")
    assert "vixio.yaml stays as it is." in told.text
    assert (house.root / "vixio.yaml").read_bytes() == before
    async with house.at_terminal(".venv/bin/vixio serve") as person:
        await person.expect(READY)
        await person.interrupt()
        assert await person.left() == 0
