"""The same in Chinese, by options: what is heard, said and apologised for is Chinese."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from tests.first_hour.house import CHINESE_VOICE, PATIENCE, READY, House
from tests.first_hour.walk_3_english import heard_by, spoken
from tests.support.llm_server import LLMServer, failure, listing, text

KOKORO = "assistant: {language: zh-CN}\ntts: {name: kokoro}"
QUESTION = "今天天气怎么样"
ANSWERS = (
    ("你记得我什么", "还没有记住"),
    ("记住我喜欢喝茶", "我记住了.*我喜欢喝茶"),
    ("你记得我什么", "我记得.*我喜欢喝茶"),
    ("现在几点", r"现在是\d+点"),
    ("量子力学", "没有听懂"),
)
"""What is typed, and what stands in the phrase book's answer."""
LATIN = re.compile(r"[A-Za-z]{3,}")
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def alike(said: str, heard: str) -> float:
    """Return how much of one is in the other, in its order: by characters."""
    return SequenceMatcher(None, said, re.sub(r"\W", "", heard), autojunk=False).ratio()


async def test_from_the_options_to_an_answer(house: House) -> None:
    address = house.write("chinese.yaml", {})
    before = house.before()
    async with LLMServer() as llm:
        llm.models = listing("tiny")
        llm.script(text("你好。"))
        key = house.home / "key"
        key.write_text("sk-zh\n")
        command = (
            ".venv/bin/vixio setup --language zh --ears whisper --voice kokoro --tools none "
            f"--model {llm.base_url} --model-name tiny --key-file {key} --yes --config chinese.yaml"
        )
        async with house.at_terminal(command) as person:
            person.patience = PATIENCE
            await person.expect(address.ota)
            house.took("vixio setup, Chinese: Whisper and Kokoro", before)
            assert "FAILED" not in person.seen
            assert CHINESE.search(person.seen.rpartition("chinese.yaml")[2])
            question = await spoken(house, QUESTION, "question", KOKORO)
            async with address.device(voice=CHINESE_VOICE) as device:
                llm.script(text("今天晴天，", "二十五度。"))
                reply = await device.ask(question, timeout=120)
                assert alike(QUESTION, heard_by(llm)) > 0.7, heard_by(llm)
                assert reply.text.replace(" ", "") == "今天晴天，二十五度。"
                assert reply.heard.duration > 1
                # What is apologised for, and why, is said in Chinese.
                llm.script(*[failure(503, "overloaded")] * 8)
                sorry = await device.type_text("你好", timeout=120)
                assert "语言模型" in sorry.text, sorry.text
                assert not LATIN.search(sorry.text)
            await person.interrupt()
            assert await person.left() == 0
            assert "Traceback" not in person.seen


async def test_the_phrase_book_says_nothing_in_english(house: House) -> None:
    config = {"assistant": {"language": "zh-CN"}, "tts": {"name": "kokoro"}, "asr": "whisper"}
    config["asr"] = {"name": "whisper"}
    async with (
        house.serving("chinese.yaml", config) as (person, address),
        address.device() as device,
    ):
        await person.expect(READY)
        for said, answer in ANSWERS:
            reply = await device.type_text(said, timeout=120)
            assert re.search(answer, reply.text), (said, reply.text)
            assert not LATIN.search(reply.text), (said, reply.text)


async def test_ears_that_hear_no_chinese_are_named_at_the_start(house: House) -> None:
    config = {"assistant": {"language": "zh-CN"}}
    async with house.serving("deaf.yaml", config) as (person, _):
        await person.expect(READY)
        (line,) = [each for each in person.seen.splitlines() if "WARNING" in each]
        assert "pocketsphinx" in line
        assert "zh-CN" in line
        check = (await house.run(".venv/bin/vixio check --config deaf.yaml", status=None)).text
        assert "docs/speech.md#ears-and-voices" in check
    config = {"assistant": {"language": "sw"}}
    async with house.serving("deaf.yaml", config) as (person, _):
        await person.expect(READY)
        assert "docs/speech.md" in person.seen  # no catalogue of what the assistant says itself
