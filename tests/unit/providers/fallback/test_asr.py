"""Several recognisers: the next one hears the whole utterance."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.support.fragile_asr import BROKEN, FragileASR
from tests.support.waiting import until
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.asr import Recognition, SpeechHints
from vixio.providers.fallback.asr import CATCH_UP_BYTES, FallbackASRProvider
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.testing import ScriptedASR

LIMIT = 30.0

PIECES = [bytes([number, 0]) * 160 for number in range(1, 7)]


async def utter(fallback: FallbackASRProvider, pieces: Sequence[bytes] = PIECES) -> Recognition:
    stream = fallback.open(SpeechHints())
    try:
        async with asyncio.timeout(LIMIT):
            for piece in pieces:
                await stream.feed(piece)
            return await stream.finish()
    finally:
        await stream.close()


@pytest.mark.parametrize("error", [BROKEN, ZeroDivisionError()])
@pytest.mark.parametrize("at", ["open", "feed", "finish"])
async def test_the_next_hears_the_whole_utterance(at: str, error: Exception) -> None:
    fragile, sound = FragileASR(at, error), ScriptedASR(["words"])
    fallback = FallbackASRProvider([fragile, sound])
    await fallback.start()
    assert (await utter(fallback)).text == "words"
    assert sound.utterances == [b"".join(PIECES)]
    assert sound.open_streams == 0
    assert fragile.closed == (at != "open")
    first, second = fallback.stats()
    assert first["state"] == "open"
    assert (first["failed"], second["served"]) == (1, 1)
    assert (await utter(fallback)).text == "words"
    assert fragile.opened == 1  # left alone
    await fallback.close()


async def test_one_that_hangs_has_its_share_of_the_time() -> None:
    fragile, sound = FragileASR("finish", None), ScriptedASR(["words"])
    fallback = FallbackASRProvider([fragile, sound], seconds=1.0)
    await fallback.start()
    assert (await utter(fallback)).text == "words"
    assert fallback.stats()[0]["reason"] == "timeout"
    await fallback.close()


async def test_when_all_fail_the_first_ones_reason_is_told() -> None:
    fallback = FallbackASRProvider([FragileASR("feed"), ScriptedASR([ProviderError("b", "no")])])
    await fallback.start()
    with pytest.raises(ProviderError, match="fragile: out of order"):
        await utter(fallback)
    with pytest.raises(ProviderError):  # all rest, so all are asked again
        await utter(fallback)
    assert [each["failures"] for each in fallback.stats()] == [2, 2]
    await fallback.close()


async def test_it_is_tried_again_after_its_pause() -> None:
    fragile = FragileASR("finish")
    fallback = FallbackASRProvider(
        [fragile, ScriptedASR(["words"])], breaker=BreakerSettings(first=0.05)
    )
    await fallback.start()
    assert (await utter(fallback)).text == "words"
    fragile.at = ""
    await until(lambda: fallback.stats()[0]["state"] == "half_open", what="the end of its pause")
    assert (await utter(fallback)).text == "from the fragile one"
    assert fallback.stats()[0]["state"] == "ready"
    await fallback.close()


async def test_a_rejected_utterance_is_an_answer() -> None:
    sound = ScriptedASR(["words"])
    fallback = FallbackASRProvider([ScriptedASR([Recognition("", rejected=True)]), sound])
    await fallback.start()
    assert (await utter(fallback)).rejected
    assert sound.hints == []
    await fallback.close()


async def test_partial_words_come_from_the_active_provider() -> None:
    fallback = FallbackASRProvider([FragileASR("", None), ScriptedASR()])
    await fallback.start()
    stream = fallback.open(SpeechHints())
    await stream.feed(PIECES[0])
    assert stream.partial == "1 pieces"
    await stream.close()
    assert fallback.stats()[0]["state"] == "ready"
    await fallback.close()


async def test_a_long_utterance_is_caught_up_with_by_and_by() -> None:
    fragile, sound = FragileASR("feed", feeds=13), ScriptedASR(["words"])
    fallback = FallbackASRProvider([fragile, sound])
    await fallback.start()
    second = bytes(range(256)) * 125
    whole = [second] * 20  # 13 s are behind when the fragile one fails
    assert len(second) * 13 > 2 * CATCH_UP_BYTES
    assert (await utter(fallback, whole)).text == "words"
    assert sound.utterances == [second * 20]
    await fallback.close()


async def test_one_that_cannot_start_does_not_stop_the_others() -> None:
    missing = FragileASR("start", ProviderUnavailable("fragile", "pip install it"))
    fallback = FallbackASRProvider([missing, ScriptedASR(["words"])])
    await fallback.start()
    fallback.prepare(SpeechHints())
    assert (await utter(fallback)).text == "words"
    assert missing.opened == 0
    await fallback.close()


async def test_when_none_can_start_each_remedy_is_told() -> None:
    missing = ProviderUnavailable("fragile", "pip install it")
    fallback = FallbackASRProvider([FragileASR("start", missing), FragileASR("start", missing)])
    with pytest.raises(ProviderUnavailable, match=r"no provider of.*install it; .*install it"):
        await fallback.start()
    with pytest.raises(ProviderError):
        await utter(fallback)
    await fallback.close()


async def test_one_that_did_not_start_is_started_again_behind() -> None:
    fragile = FragileASR("start")
    fallback = FallbackASRProvider(
        [fragile, ScriptedASR(["words"])], breaker=BreakerSettings(first=0.0)
    )
    await fallback.start()
    fragile.at = ""
    assert (await utter(fallback)).text == "words"  # begins the start, and does not wait for it
    await asyncio.sleep(0)
    assert (await utter(fallback)).text == "from the fragile one"
    await fallback.close()


async def test_a_closed_list_refuses() -> None:
    fallback = FallbackASRProvider([ScriptedASR(), ScriptedASR()])
    await fallback.start()
    stream = fallback.open(SpeechHints())
    await stream.feed(PIECES[0])
    await fallback.close()
    await fallback.close()
    with pytest.raises(ProviderError):
        await stream.finish()
    with pytest.raises(ProviderError):
        await utter(fallback)
    await stream.close()
    with pytest.raises(ProviderError):
        await fallback.start()


async def test_changed_hints_reach_the_one_that_is_asked_and_the_next() -> None:
    fan, lamp = SpeechHints(language="en-fan"), SpeechHints(language="en-lamp")
    first, second = ScriptedASR([BROKEN]), ScriptedASR(["words"])
    fallback = FallbackASRProvider([first, second])
    await fallback.start()
    stream = fallback.open(fan)
    await stream.feed(PIECES[0])
    stream.update_hints(lamp)
    assert (await stream.finish()).text == "words"
    await stream.close()
    assert (first.hints, first.hint_updates) == ([fan], [lamp])
    assert (second.hints, second.hint_updates) == ([lamp], [])
    await fallback.close()


async def test_partial_results_are_passed_on_until_one_is_passed_over() -> None:
    first = ScriptedASR([BROKEN], words_per_second=1_000)
    second = ScriptedASR(["one two three four five six"], words_per_second=100)
    fallback = FallbackASRProvider([first, second])
    await fallback.start()
    partials: list[str] = []
    stream = fallback.open(SpeechHints())
    stream.on_partial = partials.append
    await stream.feed(PIECES[0])
    await stream.feed(PIECES[1])
    assert (await stream.finish()).text == "one two three four five six"
    await stream.close()
    assert partials == [str(BROKEN), "one two"]
    await fallback.close()


@pytest.mark.parametrize(("one", "other"), [(False, False), (True, False), (False, True)])
async def test_one_closed_vocabulary_makes_the_list_one(one: bool, other: bool) -> None:
    class Closed(ScriptedASR):
        @property
        def closed_vocabulary(self) -> bool:
            return True

    fallback = FallbackASRProvider([Closed() if each else ScriptedASR() for each in (one, other)])
    assert fallback.closed_vocabulary is (one or other)
