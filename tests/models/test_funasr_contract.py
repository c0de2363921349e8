"""FunASR keeps the contract of recognisers, with a SenseVoice that knows two utterances.

Its process takes seconds to start. So the suite's tests are not inherited, each with a provider of
its own, but run on one provider and one loop; those that end theirs get another.
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

from tests.models.funasr_support import BOUND, funasr, made, say
from tests.models.needs import needs
from vixio.providers.funasr.provider import FunASRProvider
from vixio.testing.contract import ASRContract
from vixio.testing.contract.asr import OFF, ON, utterances

pytestmark = [
    *needs("funasr", "funasr", "torch", "kaldi_native_fbank", "sentencepiece"),
    pytest.mark.asyncio(loop_scope="module"),
]

ENDS_ITS_PROVIDER = ("test_close_fails_open_streams",)
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


CASES = list(cases())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(sensevoice: Path) -> AsyncIterator[FunASRProvider]:
    async with funasr(sensevoice) as provider:
        yield provider
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize(("name", "chosen"), CASES)
async def test_contract(
    shared: FunASRProvider, sensevoice: Path, name: str, chosen: dict[str, Any]
) -> None:
    before = asyncio.all_tasks()
    test = getattr(ASRContract(), name)
    wanted = inspect.signature(test).parameters
    own = made(sensevoice)
    try:
        if name in ENDS_ITS_PROVIDER:
            async with asyncio.timeout(BOUND):
                await own.start()
        given = {
            "asr": own if name in ENDS_ITS_PROVIDER else shared,
            "unstarted": own,
            "words_expected": True,
            **chosen,
        }
        await test(**{key: given[key] for key in wanted})
    finally:
        await own.close()
    assert asyncio.all_tasks() <= before


async def test_the_suite_is_all_there() -> None:
    tests = {case.values[0] for case in CASES}
    assert {"test_words_are_recognised", "test_close_fails_open_streams"} < tests
    assert len(CASES) > len(tests) > 10


async def test_tags_become_language_and_emotion_and_no_words(shared: FunASRProvider) -> None:
    heard = [await say(shared, utterances()[words]) for words in (ON, OFF)]
    assert [each.text for each in heard] == [ON, OFF]
    assert [each.language for each in heard] == ["en", "en"]
    assert [each.emotion for each in heard] == ["happy", "angry"]
