"""Two recognisers hear the same utterance; one that fails costs nothing but itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from pydantic import ValidationError

from tests.support.fragile_asr import BROKEN, FragileASR
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.asr import ASRProvider, Recognition, SpeechHints
from vixio.providers.combined.arbiter import Arbiter
from vixio.providers.combined.provider import CombinedASRProvider
from vixio.providers.combined.settings import FACTORY, CombinedSettings
from vixio.providers.inference import packaged
from vixio.providers.pocketsphinx.provider import PocketSphinxSettings
from vixio.settings import Settings
from vixio.testing import ScriptedASR

LIMIT = 30.0
FOREVER = 1_000.0
SURE = Recognition("turn on the light", confidence=0.9)
UNSURE = Recognition("turn on the light", confidence=0.5)
DECLINED = Recognition("", rejected=True)
PIECES = [bytes([number, 0]) * 160 for number in range(1, 7)]


@asynccontextmanager
async def combined(
    commands: ASRProvider, speech: ASRProvider, seconds: float = 10.0
) -> AsyncIterator[CombinedASRProvider]:
    provider = CombinedASRProvider(commands, speech, Arbiter(0.7, 0.75), seconds)
    await provider.start()
    try:
        yield provider
    finally:
        await provider.close()


async def utter(provider: ASRProvider, pieces: Sequence[bytes] = PIECES) -> Recognition:
    stream = provider.open(SpeechHints())
    try:
        async with asyncio.timeout(LIMIT):
            for piece in pieces:
                await stream.feed(piece)
            return await stream.finish()
    finally:
        await stream.close()


async def test_both_hear_everything_and_the_surer_counts() -> None:
    commands, speech = ScriptedASR([UNSURE, DECLINED]), ScriptedASR(["Tell me a joke."])
    async with combined(commands, speech) as provider:
        for _ in range(2):
            assert (await utter(provider)).text == "Tell me a joke."
    assert commands.utterances == speech.utterances == [b"".join(PIECES)] * 2
    assert commands.open_streams == speech.open_streams == 0


async def test_a_sure_command_does_not_wait_for_the_other() -> None:
    commands, speech = ScriptedASR([SURE]), ScriptedASR(["words"], delay=FOREVER)
    async with combined(commands, speech) as provider:
        assert await utter(provider) == SURE
        assert [each["failed"] for each in provider.stats()] == [0, 0]
    assert speech.open_streams == 0


@pytest.mark.parametrize("error", [BROKEN, ZeroDivisionError()])
@pytest.mark.parametrize("at", ["start", "open", "feed", "finish"])
async def test_one_that_fails_costs_only_itself(at: str, error: Exception) -> None:
    async with combined(FragileASR(at, error), ScriptedASR(["free words"])) as provider:
        assert (await utter(provider)).text == "free words"
        assert provider.stats()[0]["failed"] == 1
    async with combined(ScriptedASR([UNSURE]), FragileASR(at, error)) as provider:
        assert await utter(provider) == UNSURE, "alone it counts as it always did"
        assert provider.stats()[1]["failed"] == 1
        assert await utter(provider) == UNSURE, "the other one is passed over for a while"


@pytest.mark.slow
async def test_one_that_hangs_is_not_waited_for() -> None:
    async with combined(ScriptedASR([UNSURE]), FragileASR("finish", None), 1.0) as provider:
        assert await utter(provider) == UNSURE
        assert provider.stats()[1]["reason"] == "timeout"


async def test_when_both_fail_the_reason_is_told() -> None:
    speech = ScriptedASR([ProviderError("free", "no")])
    async with combined(FragileASR("feed"), speech) as provider:
        with pytest.raises(ProviderError, match=r"fragile: out of order|free: no"):
            await utter(provider)
    async with combined(FragileASR("finish", None), speech, 0.5) as provider:
        with pytest.raises(ProviderTimeout, match="fragile"):
            await utter(provider)


async def test_without_any_it_does_not_start() -> None:
    provider = CombinedASRProvider(FragileASR("start"), FragileASR("start"))
    with pytest.raises(ProviderError, match="out of order"):
        await provider.start()
    with pytest.raises(ProviderError):
        await utter(provider)
    await provider.close()


async def test_cancelling_ends_both() -> None:
    speech = ScriptedASR(["words"], delay=FOREVER)
    commands = ScriptedASR([UNSURE], delay=FOREVER)
    async with combined(commands, speech) as provider:
        stream = provider.open(SpeechHints())
        await stream.feed(PIECES[0])
        finishing = asyncio.create_task(stream.finish())
        for _ in range(10):
            await asyncio.sleep(0)
        finishing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await finishing
        await stream.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
    assert commands.open_streams == speech.open_streams == 0


async def test_hints_reach_both_and_partial_words_are_the_free_ones() -> None:
    commands, speech = ScriptedASR([UNSURE]), ScriptedASR(["so many words"], words_per_second=100)
    async with combined(commands, speech) as provider:
        stream = provider.open(SpeechHints(language="en"))
        partials: list[str] = []
        stream.on_partial = partials.append
        for piece in PIECES:
            await stream.feed(piece)
        stream.update_hints(SpeechHints(language="de"))
        await stream.finish()
        await stream.close()
    assert partials
    assert partials[-1] == "so many words"
    for each in (commands, speech):
        assert [hints.language for hints in each.hint_updates] == ["de"]


def test_the_settings_hold_both_with_their_options() -> None:
    options = CombinedSettings.model_validate(
        {"speech": {"name": "openai", "timeout": 3.0}, "timeout": 5.0}
    )
    assert options.commands.name == "pocketsphinx"
    assert isinstance(options.commands.options, PocketSphinxSettings)
    limited = options.commands.within(4.5).options
    assert isinstance(limited, PocketSphinxSettings)
    assert limited.timeout == 4.5
    assert options.speech.within(2.0) is options.speech, "a limit of the file stays"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "speech"),
        ({"speech": {"name": "combined", "speech": {"name": "openai"}}}, "another one"),
        ({"speech": {"name": "no-such-thing"}}, "no-such-thing"),
        ({"speech": {}}, "name is missing"),
        ({"speech": {"name": "openai", "volume": 3}}, "volume"),
    ],
)
def test_mistakes_are_found(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        CombinedSettings.model_validate(given)


async def test_a_missing_package_leaves_the_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda _: None)
    options = CombinedSettings.model_validate({"speech": {"name": "moonshine"}})
    provider = FACTORY.create(options)
    assert provider.name == "pocketsphinx + moonshine"
    assert provider.closed_vocabulary
    both = {"name": "moonshine"}
    with pytest.raises(ProviderUnavailable, match="moonshine-voice"):
        FACTORY.create(CombinedSettings.model_validate({"commands": both, "speech": both}))
    await provider.close()


def test_each_recogniser_is_tried_by_itself() -> None:
    asr = {"name": "combined", "speech": {"name": "moonshine", "threads": 2}}
    section = Settings.model_validate({"asr": asr}).asr
    parts = dict(section.parts())
    assert [(place, part.name) for place, part in parts.items()] == [
        (".commands", "pocketsphinx"),
        (".speech", "moonshine"),
    ]
    assert parts[".speech"].options.model_dump()["threads"] == 2
    listed = Settings.model_validate({"asr": [asr, {"name": "pocketsphinx"}]}).asr
    assert [place for place, _ in listed.parts()] == ["[0].commands", "[0].speech", "[1]"]
    assert registry.resolve("asr", "combined") is FACTORY
