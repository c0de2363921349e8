"""What ``make demo-natural`` checks, each with something that has to fail.

The conversations themselves need the models of extras: tests/models/test_natural_demo.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from examples.demos import natural, natural_checks
from examples.demos.__main__ import main
from examples.demos.natural_model import StandInModel, serving
from examples.demos.natural_script import ENGLISH, LAMP, SCRIPTS
from examples.demos.natural_words import behind, contains, share_heard, sounds
from firmware_test_client import Reply
from firmware_test_client.replies import Sentence
from vixio.cli.demo.conversation import Finding
from vixio.core.errors import ConfigError
from vixio.core.history import INTERRUPTED
from vixio.settings import load_settings

ROOT = Path(__file__).resolve().parents[3]
STORY = next(each.answer for each in ENGLISH.exchanges if each.interrupted)


def reply(text: str, seconds: float, level: int = 8000) -> Reply:
    samples = np.full(round(24_000 * seconds), level, "<i2")
    heard = Reply(index=0, tts_start=0.0, sentences=[Sentence(text, 0.0)])
    heard.heard_chunks.append(samples.tobytes())
    return heard


def request(*messages: tuple[str, str]) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in messages]}


def test_sentences_are_compared_by_their_words() -> None:
    assert sounds("Turn it to 20%, please!", "en") == [
        *("turn", "it", "to", "twenty", "percent", "please")
    ]
    said = "All right, I will speak more quietly from now on."
    assert share_heard(said, "Alright, I will speak more quietly for Malon.", "en") > 0.8
    assert share_heard("What does my sister like to eat?", said, "en") < 0.4
    assert share_heard("turn on the lamp", "turn on the lamb", "en") == 12 / 13
    assert share_heard("turn on the lamp", "well turn on the lamp then and there", "en") < 0.1
    assert share_heard("turn on the lamp", "", "en") == 0
    assert contains("Please, turn on the light.", "turn on", "en")
    assert not contains("turn the light on", "turn on", "en")
    assert contains("", "", "en")
    assert behind("Remember that Ann likes tea.", "remember that", "en") == "ann likes tea"
    assert behind("Ann likes tea.", "remember that", "en") == ""


def test_what_was_heard_and_what_the_model_got() -> None:
    assert natural_checks.heard("turn on the lamp", "turn on the lamb", "en").good
    assert not natural_checks.heard("turn on the lamp", "good morning", "en").good
    got = request(("user", "turn on the lamb"))
    assert natural_checks.asked([got, got], "turn on the lamb").good
    assert not natural_checks.asked([got], "turn on the lamp").good
    assert not natural_checks.asked([got, got], "").good
    assert not natural_checks.asked([], "turn on the lamp").good
    early = request(("user", "it is getting dark."))
    whole = request(("user", "it is getting dark, turn on the lamp"))
    words = "it is getting dark, turn on the lamp"
    found = natural_checks.asked([early, whole, whole], words)
    assert found == Finding(True, "the model was asked twice, with the words that were heard")
    assert not natural_checks.asked([early], words).good, "it has to be asked with all of them"
    assert not natural_checks.asked([whole, early], words).good, "and with no less afterwards"
    assert not natural_checks.asked([request(("user", "good morning")), whole], words).good


@pytest.mark.parametrize(
    ("history", "back", "good"),
    [
        (STORY[:60], STORY[:64], True),
        (
            f"{STORY[:57]} {INTERRUPTED}",
            "once upon a time there was a light house on a small i",
            True,
        ),
        (STORY, STORY[:60], False),
        ("", "", False),
        ("The lamp is on now.", STORY[:60], False),
        (STORY[:160], STORY[:60], False),  # more than was heard
        (STORY[:20], STORY[:60], False),  # less
        (STORY[:60], "", False),
    ],
)
def test_the_history_ends_where_the_answer_was_cut(history: str, back: str, good: bool) -> None:
    got = request(("assistant", history), ("user", "how far did you get"))
    assert natural_checks.shortened([got], STORY, back, "en").good == good


@pytest.mark.parametrize(
    ("seconds", "level", "good"),
    [(1.8, 8000, True), (0.2, 8000, False), (9.0, 8000, False), (1.8, 20, False), (0, 0, False)],
)
def test_the_speech_is_as_long_as_its_words(seconds: float, level: int, good: bool) -> None:
    answer = reply("The lamp is on now.", seconds, level)
    assert natural_checks.length(answer, ENGLISH).good == good


def test_an_answer_must_be_understood_and_cut_where_it_was_interrupted() -> None:
    assert natural_checks.understood("the lamp is on now", "the lap is on now", "en").good
    assert not natural_checks.understood("the lamp is on now", "", "en").good
    answer = reply(STORY[:120], 3.0)
    answer.aborted = True  # that the device has asked for it is not enough
    assert not natural_checks.cut(answer, STORY, 2, "en").good
    assert natural_checks.cut(answer, STORY, 1, "en").good  # it was under way
    answer.cut = True
    assert not natural_checks.cut(answer, STORY, 0, "en").good
    whole = reply(STORY, 3.0)
    assert not natural_checks.cut(whole, STORY, 0, "en").good


def test_the_fact_is_stored_as_it_was_heard_and_recalled_as_it_was_stored() -> None:
    stt, key = "Please remember that my sister likes chocolate.", "remember that"
    fact = "my sister likes chocolate"
    assert natural_checks.stored([fact], stt, key, "en").good
    assert not natural_checks.stored([], stt, key, "en").good
    assert not natural_checks.stored(["my sister likes tea"], stt, key, "en").good
    assert not natural_checks.stored([fact, fact], stt, key, "en").good
    assert not natural_checks.stored([""], "good morning", key, "en").good
    answer = reply("You told me that my sister likes chocolate.", 2.0)
    assert natural_checks.recalled(answer, [fact], "en").good
    assert not natural_checks.recalled(answer, [fact, "i like tea"], "en").good
    assert not natural_checks.recalled(answer, [], "en").good


@pytest.mark.parametrize("language", sorted(SCRIPTS))
def test_the_server_runs_with_the_file_that_users_run(language: str, tmp_path: Path) -> None:
    script = SCRIPTS[language]
    used = natural.settings(script, "http://127.0.0.1:9/v1", tmp_path)
    file = load_settings(ROOT / "config" / script.config, {"OPENAI_BASE_URL": "http://x.test/v1"})
    assert (used.asr, used.tts, used.vad) == (file.asr, file.tts, file.vad)
    assert used.assistant.language == file.assistant.language
    assert used.agent.name == file.agent.name
    assert (used.server.host, used.server.port) == ("127.0.0.1", 0)


def test_without_a_checkout_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(natural, "checkout", lambda: None)
    with pytest.raises(ConfigError, match="needs a checkout"):
        natural.settings(ENGLISH, "http://127.0.0.1:9/v1", tmp_path)


def test_a_language_belongs_to_the_natural_form(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["api", "--language", "zh"])
    assert "--language is for natural" in capsys.readouterr().err


async def test_the_stand_in_takes_everything_from_the_request() -> None:
    lamp = {"type": "function", "function": {"name": LAMP.replace(".", "_"), "parameters": {}}}
    recall = {"type": "function", "function": {"name": "recall_facts", "parameters": {}}}
    wish = {"role": "user", "content": "It is getting dark outside, please turn on the lamb."}
    model = StandInModel(ENGLISH)

    async with (
        serving(model) as url,
        openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client,
    ):

        async def ask(messages: list[Any], *tools: dict[str, Any]) -> tuple[str, list[str]]:
            said: str = ""
            called: list[str] = []
            offered: Any = list(tools)  # the library has a type for each kind of tool
            stream: Any = await client.chat.completions.create(
                model="any", messages=messages, tools=offered, stream=True
            )
            async for chunk in stream:
                for choice in chunk.choices:
                    said += choice.delta.content or ""
                    calls = choice.delta.tool_calls or ()
                    called += [f"{each.function.name}{each.function.arguments}" for each in calls]
            return said, called

        def result(name: str, content: str) -> list[Any]:
            function = {"name": name, "arguments": "{}"}
            call = {"id": "1", "type": "function", "function": function}
            return [
                {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "1", "content": content},
            ]

        sister = {"role": "user", "content": "What does my sister like to eat?"}
        assert await ask([wish], lamp) == ("", ["self_lamp_turn_on{}"])
        assert await ask([wish]) == (ENGLISH.failed, [])
        assert await ask([wish, *result("x", "true")], lamp) == ("The lamp is on now.", [])
        assert await ask([wish, *result("x", '{"error": 1}')], lamp) == (ENGLISH.failed, [])
        for words in ("mumble", "Set the volume to seventy percent."):
            assert await ask([{"role": "user", "content": words}], lamp) == (ENGLISH.lost, [])
        facts = result("recall_facts", '{"facts": ["my sister likes tea"]}')
        told, _ = await ask([sister, *facts], recall)
        assert told == "You told me that my sister likes tea."
        assert [each.id async for each in client.models.list()] == ["bench"]
    assert len(model.asked) == 7
