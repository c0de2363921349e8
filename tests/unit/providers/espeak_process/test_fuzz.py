"""Any text goes through the real provider and the real library, and the voice goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vixio.core.errors import ProviderError
from vixio.providers.espeak.provider import EspeakSettings, EspeakTTSProvider
from vixio.providers.espeak_process.pool import acquire, release
from vixio.testing.contract.tts import say

pytestmark = pytest.mark.slow

LANGUAGES = ("en", "zh", "ar", "gu", "ti", "vi", "xx")

NASTY = {
    "Braille": "all dots \u28ff \u287f\u28bf\u28fe",
    "circled letters": "a \u24dc\u24d0 \u2460",
    "grave accents": "\"` '-m (-m ``` `a` {`}",
    "emoji run": "well \U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467\u2764\ufe0f" * 12,
    "flags and keycaps": "7\ufe0f\u20e3 \U0001f1e9\U0001f1ea" * 12,
    "combining flood": "z" + "\u0341\u0316\u0489\u0651" * 80,
    "marks without a base": "\u0651\u0327\u20e3\u0903 a",
    "lone surrogates": "a\ud800b\udfff\udc00c" * 10,
    "unassigned": "a\u0378\U0003fffe\U000e0fff" * 10,
    "private use": "a\ue000\uf8ff\U0010fffd" * 10,
    "control characters": "a\0\x07\x1b[31m\x7f\x85b\u2028c",
    "bidirectional": "a\u202eb\u2066\u2069\u200fc",
    "selectors": "a" + "\ufe00\ufe0f\U000e0100\U000e01ef" * 16,
    "mixed scripts": "aبжक好한あ\u0e01\u05d0\u10d0\u1200" * 6,
    "Arabic with marks": "\u0643\u064e\u064a\u0652\u0641\u064e\u0651\u0670" * 12,
    "one long word": "pneumono" * 40,
    "long number": "9" * 260,
    "separators in a number": "1,234.567:89-0/" * 10,
    "marks of punctuation": "a?!.,;:-–—…'\"«»()[]{}<>|\\/@#$%^&*_+=~`" * 4,
    "markup": "<speak><break time='60s'/></speak> [[h@'loU]] &#0; &amp;",
    "mathematics": "\U0001d400\U0001d7ff\u222b\u2200x\u2203y" * 10,
    "full width": "\uff21\uff22\uff11\u3371\u32ff" * 5,
    "old scripts": "\U00010400\U00012000\U00013000 a" * 4,
}


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture(scope="module")
def shared(runner: asyncio.Runner) -> Iterator[EspeakTTSProvider]:
    provider = EspeakTTSProvider(EspeakSettings(rate=450))
    runner.run(provider.start())
    yield provider
    runner.run(provider.close())


@pytest.mark.parametrize("kind", NASTY)
def test_nasty_texts_crash_nothing(
    runner: asyncio.Runner, shared: EspeakTTSProvider, kind: str
) -> None:
    async def crashes_nothing() -> None:
        pool = await acquire()
        before = pool.restarts
        for language in LANGUAGES:
            await say(shared, NASTY[kind], language)
        assert await say(shared, "yes")
        assert pool.restarts == before
        await release()

    runner.run(crashes_nothing())


async def survives(tts: EspeakTTSProvider, text: str, language: str) -> None:
    try:
        await say(tts, text, language)
    except ProviderError as error:  # a text not known to crash the library
        assert "crashed on this text" in str(error)  # noqa: PT017 - it may also be spoken
    assert await say(tts, "yes")


anything = st.one_of(
    st.text(max_size=200),
    st.text(st.characters(categories=["So", "Mn", "Me", "Mc", "Cf", "Lo", "Nl"]), max_size=100),
    st.lists(st.text(max_size=3), max_size=40).map("".join),
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(text=anything, language=st.sampled_from(LANGUAGES))
def test_any_text_leaves_the_voice_working(
    runner: asyncio.Runner, shared: EspeakTTSProvider, text: str, language: str
) -> None:
    runner.run(survives(shared, text, language))
