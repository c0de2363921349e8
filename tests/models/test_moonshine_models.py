"""Moonshine keeps the contract of recognisers, with the model inside its package."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from tests.models.needs import needs
from vixio.providers.asr import ASRProvider
from vixio.providers.moonshine.provider import MoonshineASRProvider
from vixio.testing.contract import ASRContract
from vixio.testing.contract.asr import Mishap, hear
from vixio.testing.contract.base import Creator
from vixio.testing.voices import Speaker, Voices

pytestmark = needs("moonshine", "moonshine_voice")

SENTENCE = "The weather was so lovely that we walked along the river all afternoon."


def spoken(text: str) -> bytes:
    voice = Speaker("en-us+m1", rate=155, pitch=52)
    return b"".join(Voices(repeatable=True).say(text, voice, seed=1))


class TestMoonshine(ASRContract):
    finds_words = False  # it takes the synthetic voice's "lamp" for a "lamb"

    @pytest.fixture
    def creator(self) -> Creator[ASRProvider]:
        @asynccontextmanager
        async def create(mishap: Mishap | None = None) -> AsyncIterator[ASRProvider]:
            yield MoonshineASRProvider()

        return create

    async def test_free_speech(self, asr: ASRProvider) -> None:
        heard = await hear(asr, spoken(SENTENCE))
        # The first words of this synthetic voice are not heard alike on every processor.
        assert heard.text.endswith("so lovely that we walked along the river all afternoon.")
        assert heard.confidence is not None
        assert heard.confidence > 0.7

    async def test_what_is_no_speech_has_no_words(self, asr: ASRProvider) -> None:
        generator = np.random.default_rng(1)
        for level in (0.003, 0.01, 0.1):
            noise = (generator.standard_normal(48_000) * level * 32_767).astype("<i2").tobytes()
            assert (await hear(asr, noise)).text == "", level
        assert (await hear(asr, bytes(96_000))).rejected is False, "silence is no speech at all"

    async def test_the_loop_goes_on_while_it_decodes(self, asr: ASRProvider) -> None:
        turns = 0
        hearing = asyncio.create_task(hear(asr, spoken(" ".join([SENTENCE] * 4))))
        while not hearing.done():
            await asyncio.sleep(0)
            turns += 1
        assert (await hearing).text.count("along the river") == 4
        assert turns > 100, "the thread gives the interpreter back while it computes"
