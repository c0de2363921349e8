"""The recognisers that pass the contract. A new one adds a line to :data:`ASRS`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from tests.contract.fallbacks import NEVER_OPEN, BrokenASR, fallback_asr
from tests.contract.known_words import KnownWordsASR
from tests.support import funasr_faults
from tests.support.funasr_server import Flavour, FunASRServer, loud
from tests.support.speech_server import Fault, SpeechServer, refusal
from tests.vendors import dashscope, volcengine, xunfei
from vixio.providers.asr import ASRProvider
from vixio.providers.combined.provider import CombinedASRProvider
from vixio.providers.funasr_server.provider import FunASRServerASRProvider
from vixio.providers.funasr_server.settings import FunASRServerSettings
from vixio.providers.openai_speech.asr import OpenAIASRProvider, OpenAIASRSettings
from vixio.providers.pocketsphinx.provider import PocketSphinxASRProvider, PocketSphinxSettings
from vixio.testing.contract.asr import ASRCreator, Mishap, utterances


@dataclass(frozen=True)
class RecogniserCase:
    """``finds_words``: whether it finds the words. ``mishaps``: those that ``create`` can cause."""

    create: ASRCreator
    finds_words: bool = True
    mishaps: tuple[Mishap, ...] = ()


@asynccontextmanager
async def pocketsphinx(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
    # With a time limit that no busy machine misses: one process decodes all that a test says.
    yield PocketSphinxASRProvider(PocketSphinxSettings(workers=1, timeout=120, max_seconds=4))


def openai(*, stream: bool) -> ASRCreator:
    faults: Final = {
        Mishap.ERROR: refusal(500, "out of order"),
        Mishap.STALL: Fault(stall="body"),
        Mishap.CUT: Fault(cut="body"),
        Mishap.GARBAGE: Fault(body=b"\xff\xfe no answer", media="text/plain"),
    }

    @asynccontextmanager
    async def made(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
        async with SpeechServer() as server:
            server.known.update((pcm, words) for words, pcm in utterances().items())
            if mishap is not None:
                server.fail(faults[mishap])
            yield OpenAIASRProvider(
                OpenAIASRSettings(
                    base_url=server.base_url,
                    stream=stream,
                    retries=0,
                    timeout=2.0 if mishap is Mishap.STALL else 10,
                )
            )

    return made


def funasr_server(flavour: Flavour, mode: str) -> ASRCreator:
    # A lost connection is replaced once, so it takes two to lose an utterance.
    faults: Final = {
        Mishap.ERROR: funasr_faults.at("end", funasr_faults.fail),
        Mishap.STALL: funasr_faults.at("end", funasr_faults.stall),
        Mishap.CUT: funasr_faults.at("end", funasr_faults.cut, 2),
        Mishap.GARBAGE: funasr_faults.at("end", funasr_faults.rubbish, 2),
    }

    def recognise(pcm: bytes) -> str:
        """Return the words of most of an utterance; of less, one word."""
        for words, known in utterances().items():
            if pcm in known and loud(pcm):
                return words if 2 * len(pcm) > len(known) else "turn"
        return ""

    @asynccontextmanager
    async def made(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
        fault = None if mishap is None else faults[mishap]
        async with FunASRServer(flavour, transcribe=recognise, fault=fault) as server:
            timeout = 2.0 if mishap is Mishap.STALL else 10
            settings = {"url": server.url, "mode": mode, "timeout": timeout}
            yield FunASRServerASRProvider(FunASRServerSettings.model_validate(settings))

    return made


@asynccontextmanager
async def combined(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
    async with openai(stream=True)(mishap) as speech:
        yield CombinedASRProvider(KnownWordsASR(), speech, seconds=120)


@asynccontextmanager
async def known_words(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
    yield KnownWordsASR()


@asynccontextmanager
async def half_broken(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
    yield CombinedASRProvider(KnownWordsASR(), BrokenASR(), breaker=NEVER_OPEN)


ASRS: Final[dict[str, RecogniserCase]] = {
    "combined, known words and broken": RecogniserCase(half_broken),
    "combined, known words and openai": RecogniserCase(combined),
    "dashscope": RecogniserCase(dashscope.asr("fun-asr-realtime"), mishaps=tuple(Mishap)),
    "dashscope-qwen": RecogniserCase(dashscope.asr(dashscope.QWEN_ASR), mishaps=tuple(Mishap)),
    "fallback from broken, known words": RecogniserCase(fallback_asr(known_words)),
    "fallback from broken, openai": RecogniserCase(fallback_asr(openai(stream=False))),
    "funasr-server": RecogniserCase(funasr_server(Flavour.PYTHON, "2pass"), mishaps=tuple(Mishap)),
    "funasr-server-offline": RecogniserCase(
        funasr_server(Flavour.CPP_OFFLINE, "offline"), mishaps=tuple(Mishap)
    ),
    "openai": RecogniserCase(openai(stream=False), mishaps=tuple(Mishap)),
    "openai-stream": RecogniserCase(openai(stream=True), mishaps=tuple(Mishap)),
    "pocketsphinx": RecogniserCase(pocketsphinx),
    "volcengine": RecogniserCase(volcengine.asr("bigmodel_async"), mishaps=tuple(Mishap)),
    "volcengine-nostream": RecogniserCase(
        volcengine.asr("bigmodel_nostream"), mishaps=tuple(Mishap)
    ),
    "xunfei": RecogniserCase(xunfei.asr("slm"), mishaps=tuple(Mishap)),
    "xunfei-iat": RecogniserCase(xunfei.asr("iat"), mishaps=tuple(Mishap)),
}
