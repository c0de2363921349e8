"""FunASR keeps the contract of recognisers, with a SenseVoice that knows two utterances.

Its process takes seconds to start. So the suite's tests are not inherited, each with a provider of
its own, but run on one provider and one loop. The one that ends the provider is the last.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.models.funasr_support import BOUND, made, say
from tests.models.needs import needs
from vixio.providers.funasr.provider import FunASRProvider
from vixio.testing.contract import ASRContract
from vixio.testing.contract.asr import OFF, ON, utterances

pytestmark = [
    *needs("funasr", "funasr", "torch", "kaldi_native_fbank", "sentencepiece"),
    pytest.mark.asyncio(loop_scope="module"),
]

ENDS_IT = "test_close_fails_open_streams"
STARTS_ANOTHER = ("test_a_cancelled_start_leaves_nothing",)
SEEN_ELSEWHERE = ("test_each_mishap_costs_one_utterance",)  # test_funasr_process.py


def cases() -> Iterator[Any]:
    """Every test of the suite with every combination of its parameters."""
    for name, test in inspect.getmembers(ASRContract, inspect.isfunction):
        if not name.startswith("test_") or name in SEEN_ELSEWHERE:
            continue
        choices = []
        for mark in getattr(test, "pytestmark", ()):
            argument, values = mark.args
            labels = mark.kwargs.get("ids") or map(str, values)
            pairs = zip(values, labels, strict=True)
            choices.append([(argument, value, label) for value, label in pairs])
        for chosen in product(*choices):
            label = "-".join([name.removeprefix("test_"), *(label for _, _, label in chosen)])
            yield pytest.param(name, {key: value for key, value, _ in chosen}, id=label)


*CASES, LAST = sorted(cases(), key=lambda case: case.values[0] == ENDS_IT)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(sensevoice: Path) -> AsyncIterator[FunASRProvider]:
    provider = made(sensevoice)
    async with asyncio.timeout(BOUND):
        await asyncio.gather(provider.start(), provider.start())
    yield provider
    await provider.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize(("name", "chosen"), CASES)
async def test_contract(
    shared: FunASRProvider, sensevoice: Path, name: str, chosen: dict[str, Any]
) -> None:
    before = asyncio.all_tasks()
    own = made(sensevoice) if name in STARTS_ANOTHER else shared
    try:
        await kept(own, name, chosen)
    finally:
        if own is not shared:
            await own.close()
    assert asyncio.all_tasks() <= before


async def kept(provider: FunASRProvider, name: str, chosen: dict[str, Any]) -> None:
    """Run a test of the suite."""
    test = getattr(ASRContract(), name)
    given = {"asr": provider, "unstarted": provider, "words_expected": True, **chosen}
    await test(**{key: given[key] for key in inspect.signature(test).parameters})


async def test_the_suite_is_all_there() -> None:
    tests = {case.values[0] for case in CASES}
    assert {"test_words_are_recognised", *STARTS_ANOTHER} < tests
    assert LAST.values == (ENDS_IT, {})
    assert len(CASES) >= len(tests) > 10


async def test_tags_become_language_and_emotion_and_no_words(shared: FunASRProvider) -> None:
    heard = [await say(shared, utterances()[words]) for words in (ON, OFF)]
    assert [each.text for each in heard] == [ON, OFF]
    assert [each.language for each in heard] == ["en", "en"]
    assert [each.emotion for each in heard] == ["happy", "angry"]


async def test_close_fails_open_streams(shared: FunASRProvider) -> None:
    """The last test here: the provider is closed."""
    await kept(shared, ENDS_IT, {})
