"""The contract of ASR providers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from functools import cache
from itertools import pairwise

import pytest

from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.testing.contract.base import LIMIT, ProviderContract
from vixio.testing.voices import Speaker, Voices

ON, OFF = "turn on the lamp", "turn off the lamp"

LAMP = (
    ToolDefinition("self.lamp.turn_on", "Turn on the lamp", alias="self_lamp_turn_on"),
    ToolDefinition("self.lamp.turn_off", "Turn off the lamp", alias="self_lamp_turn_off"),
)
HINTS = SpeechHints(LAMP, "en")

PACKET = LISTEN_RATE * 2 * 60 // 1000
"""Bytes of one packet of 60 ms."""


class Mishap(StrEnum):
    """Faults of the service behind a recogniser."""

    ERROR = "error"
    """The service reports an error."""
    STALL = "stall"
    """The service stops answering; the connection stays open."""
    CUT = "cut"
    """The connection ends before the result."""
    GARBAGE = "garbage"
    """The service sends a malformed answer."""


ASRCreator = Callable[[Mishap | None], AbstractAsyncContextManager[ASRProvider]]
"""Makes an unstarted recogniser whose service has the mishap in the next utterance only."""


@cache
def utterances() -> dict[str, bytes]:
    """Return :data:`ON` and :data:`OFF` as spoken: 16 kHz PCM by its words, the same every time."""
    voices, speaker = Voices(repeatable=True), Speaker("en-us", rate=160, pitch=50)
    return {
        words: b"".join(voices.say(words, speaker, seed=seed))
        for seed, words in enumerate((ON, OFF), 1)
    }


async def feed(stream: ASRStream, pcm: bytes, size: int = PACKET) -> None:
    async with asyncio.timeout(LIMIT):
        for start in range(0, len(pcm), size):
            await stream.feed(pcm[start : start + size])


async def finish(stream: ASRStream) -> Recognition:
    async with asyncio.timeout(LIMIT):
        heard = await stream.finish()
    assert isinstance(heard.text, str)
    assert isinstance(stream.partial, str)
    assert heard.confidence is None or 0 <= heard.confidence <= 1
    assert not (heard.rejected and heard.text)
    assert heard.rejected or not heard.guess
    return heard


async def hear(
    asr: ASRProvider, pcm: bytes, size: int = PACKET, hints: SpeechHints = HINTS
) -> Recognition:
    stream = asr.open(hints)
    try:
        await feed(stream, pcm, size)
        return await finish(stream)
    finally:
        await stream.close()


class ASRContract(ProviderContract[ASRProvider]):
    """The tests that every recogniser passes.

    A stand-in for a service knows the words of :func:`utterances`.
    """

    finds_words = True
    """Whether it finds the words; a model with random weights does not."""

    mishaps: Sequence[Mishap] = ()
    """Those that :meth:`create` can cause."""

    def create(self, mishap: Mishap | None = None) -> AbstractAsyncContextManager[ASRProvider]:
        """Yield the recogniser unstarted; ``mishap``: happens to the first utterance."""
        raise NotImplementedError(f"{type(self).__name__} must implement create()")

    @pytest.fixture
    def asr(self, provider: ASRProvider) -> ASRProvider:
        """Return a started recogniser, each test its own."""
        return provider

    @pytest.fixture
    def words_expected(self) -> bool:
        """Return :attr:`finds_words`; a fixture, so that a suite of several can choose it."""
        return self.finds_words

    @pytest.fixture
    def possible_mishaps(self) -> Sequence[Mishap]:
        """Return :attr:`mishaps`, likewise."""
        return self.mishaps

    @pytest.fixture
    def mishap_creator(self) -> ASRCreator:
        """Return :meth:`create`, likewise."""
        return self.create

    async def test_words_are_recognised(self, asr: ASRProvider, words_expected: bool) -> None:
        for words, pcm in utterances().items():
            heard = await hear(asr, pcm)
            if words_expected:
                assert (heard.text.lower().strip(" ."), heard.rejected) == (words, False)

    async def test_the_size_of_the_pieces_does_not_matter(
        self, asr: ASRProvider, words_expected: bool
    ) -> None:
        pcm = utterances()[ON]
        whole = await hear(asr, pcm, len(pcm))
        for size in (160, 1_002, 64_000):
            assert (await hear(asr, pcm, size)).text == whole.text
        assert whole.text or not words_expected

    async def test_silence_has_no_words(self, asr: ASRProvider, words_expected: bool) -> None:
        silences = {
            "empty": b"",
            "one sample": b"\0\0",
            "half a sample": b"\1",
            "10 ms": bytes(320),
            "2 s of silence": bytes(64_000),
            "faint hum": b"\5\0\373\377" * 8_000,
        }
        for name, pcm in silences.items():
            heard = await hear(asr, pcm)
            assert heard.text == "" or not words_expected, name

    async def test_ten_minutes_are_bounded(self, asr: ASRProvider, words_expected: bool) -> None:
        minute = (utterances()[ON] * 60)[: 60 * LISTEN_RATE * 2]
        try:
            await hear(asr, minute * 10, len(minute))
        except ProviderError:
            pass  # too long may be an error
        heard = await hear(asr, utterances()[ON])
        assert heard.text or not words_expected

    async def test_several_at_once_do_not_mix(self, asr: ASRProvider) -> None:
        said = list(utterances().values())
        alone = [(await hear(asr, pcm)).text for pcm in said]
        together = await asyncio.gather(*(hear(asr, pcm) for pcm in said * 2))
        assert [heard.text for heard in together] == alone * 2

    async def test_interleaved_they_finish_in_any_order(self, asr: ASRProvider) -> None:
        pcm = utterances()[ON]
        alone = (await hear(asr, pcm)).text
        streams = [asr.open(HINTS) for _ in range(4)]
        for start in range(0, len(pcm), PACKET):
            for stream in streams:
                await stream.feed(pcm[start : start + PACKET])
        assert [(await finish(stream)).text for stream in reversed(streams)] == [alone] * 4
        for stream in streams:
            await stream.close()

    async def test_hints_of_any_shape_break_nothing(self, asr: ASRProvider) -> None:
        odd = ToolDefinition("x.\ud800 \0", "d\ud800" * 500, {"type": 3}, alias="打开")
        many = [ToolDefinition(f"tool.number_{number}", "") for number in range(300)]
        whole = utterances()[ON]
        for row, tools in enumerate(((), [odd], many)):
            for column, language in enumerate(("", "en-GB", "xx-Unknown", "not a tag")):
                asr.prepare(SpeechHints(tools, language))
                # A diagonal with words has each of both once; the other pairs get the pre-roll.
                pcm = whole if row == column % 3 else whole[: 5 * PACKET]
                await hear(asr, pcm, hints=SpeechHints(tools, language))

    async def test_an_utterance_may_be_dropped_at_any_stage(self, asr: ASRProvider) -> None:
        pcm = utterances()[ON]
        alone = (await hear(asr, pcm)).text
        for share in (0.0, 0.1, 0.5, 1.0):
            for _ in range(3):
                stream = asr.open(HINTS)
                await feed(stream, pcm[: round(len(pcm) * share / 2) * 2])
                await stream.close()
                await stream.close()
                with pytest.raises(ProviderError):
                    await stream.feed(pcm[:PACKET])
                with pytest.raises(ProviderError):
                    await finish(stream)
            assert (await hear(asr, pcm)).text == alone, f"after {share:.0%} of one"

    async def test_cancellation_while_the_words_are_found(self, asr: ASRProvider) -> None:
        pcm = utterances()[ON]
        alone = (await hear(asr, pcm)).text
        for yields in (0, 1, 3, 10, 50):
            for _ in range(3):
                stream = asr.open(HINTS)
                await feed(stream, pcm)
                finishing = asyncio.create_task(finish(stream))
                for _ in range(yields):
                    await asyncio.sleep(0)
                found = finishing.done()
                finishing.cancel()
                (result,) = await asyncio.gather(finishing, return_exceptions=True)
                assert isinstance(result, Recognition if found else asyncio.CancelledError)
                await stream.close()
            assert (await hear(asr, pcm)).text == alone, f"cancelled after {yields} steps"

    async def test_partial_results(self, asr: ASRProvider) -> None:
        pcm = utterances()[ON]
        partials: list[str] = []
        stream = asr.open(HINTS)
        stream.on_partial = partials.append
        for start in range(0, len(pcm), PACKET):
            await feed(stream, pcm[start : start + PACKET])
            await asyncio.sleep(0)
            assert stream.partial == (partials[-1] if partials else "")
        await finish(stream)
        reported = list(partials)
        assert all(reported), "an empty partial result says nothing"
        assert all(one != next_ for one, next_ in pairwise(reported)), "only changes are reported"
        await stream.close()
        assert (await hear(asr, pcm)).text is not None
        assert partials == reported, "nothing is reported after the words"

    async def test_hints_that_change_under_way(
        self, asr: ASRProvider, words_expected: bool
    ) -> None:
        for share in (0.0, 0.5, 1.0):
            pcm = utterances()[ON]
            middle = round(len(pcm) * share / PACKET) * PACKET
            stream = asr.open(SpeechHints((), "en"))
            await feed(stream, pcm[:middle])
            stream.update_hints(HINTS)
            await feed(stream, pcm[middle:])
            heard = await finish(stream)
            await stream.close()
            stream.update_hints(HINTS)
            if words_expected:
                assert (heard.text.lower().strip(" ."), heard.rejected) == (ON, False)

    async def test_start_is_idempotent(self, unstarted: ASRProvider) -> None:
        unstarted.prepare(HINTS)
        await asyncio.gather(unstarted.start(), unstarted.start())
        await unstarted.start()
        await hear(unstarted, utterances()[ON])

    async def test_a_cancelled_start_leaves_nothing(self, unstarted: ASRProvider) -> None:
        starting = asyncio.create_task(unstarted.start())
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)

    async def test_close_fails_open_streams(self, asr: ASRProvider) -> None:
        pcm = utterances()[ON]
        speaking, ending = asr.open(HINTS), asr.open(HINTS)
        await feed(speaking, pcm[: PACKET * 5])
        await feed(ending, pcm)
        finishing = asyncio.create_task(finish(ending))
        await asyncio.sleep(0)
        async with asyncio.timeout(LIMIT):
            await asr.close()
            (result,) = await asyncio.gather(finishing, return_exceptions=True)
        # A result found before the end is valid.
        assert isinstance(result, Recognition | ProviderError)
        with pytest.raises(ProviderError):
            await finish(speaking)
        await speaking.close()
        await ending.close()
        with pytest.raises(ProviderError):
            await hear(asr, pcm)
        with pytest.raises(ProviderError):
            await asr.start()
        await asr.close()

    async def test_each_mishap_costs_one_utterance(
        self, mishap_creator: ASRCreator, possible_mishaps: Sequence[Mishap], words_expected: bool
    ) -> None:
        for mishap in possible_mishaps:
            async with mishap_creator(mishap) as asr:
                await asr.start()
                try:
                    with pytest.raises(ProviderError) as caught:
                        await hear(asr, utterances()[ON])
                    assert "\n" not in str(caught.value)
                    assert isinstance(caught.value, ProviderTimeout) == (mishap is Mishap.STALL)
                    heard = await hear(asr, utterances()[ON])
                    assert heard.text or not words_expected
                finally:
                    await asr.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}, mishap
