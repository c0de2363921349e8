"""A provider on its way into service: started behind, tried again after a failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from tests.unit.providers.pool.support import Choice, Voice, loader
from vixio.core.clock import now
from vixio.core.errors import ConfigError, ProviderError, ProviderUnavailable
from vixio.core.messages import LOADING
from vixio.core.metrics import Counters
from vixio.providers.fallback.tts import FallbackTTSProvider
from vixio.providers.pool.choice import MadeProvider
from vixio.providers.pool.loader import RETRY, ProviderLoader
from vixio.providers.registry import ProviderKind
from vixio.providers.tts import TTSProvider
from vixio.testing import run_virtual

MISSING = ProviderUnavailable("voice", "no model: fetch it")
DOWN = ProviderError("voice", "connection refused", reason="unreachable")


def test_it_is_made_and_started_once() -> None:
    async def run() -> None:
        choice = Choice("anna")
        its = loader(choice)
        assert (its.provider, its.ready) == (None, False)
        its.begin()
        its.begin()
        assert await its.within(1.0) is choice.made[0]
        assert its.stats() == {"kind": "tts", "provider": "anna", "state": "ready"}
        assert (len(choice.made), choice.made[0].starts) == (1, 1)
        await its.close()
        assert (its.ready, choice.made[0].closes) == (False, 1)

    run_virtual(run())


def test_one_that_is_not_ready_in_time() -> None:
    async def run() -> None:
        choice = Choice("anna", slow=True)
        its = loader(choice)
        its.begin()
        began = now()
        with pytest.raises(ProviderError) as caught:
            await its.within(1.0)
        assert caught.value.reason == LOADING
        assert now() - began == pytest.approx(1.0)
        assert its.stats()["state"] == "loading"
        waiting = asyncio.create_task(its.within(1.0))
        await asyncio.sleep(0.5)
        choice.made[0].loads.set()
        assert await waiting is choice.made[0]
        await its.close()

    run_virtual(run())


@pytest.mark.parametrize(
    "error", [MISSING, ConfigError("voice: no such option"), ValueError("a defect")]
)
def test_one_that_cannot_be_used_is_tried_again(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        choice = Choice("anna", errors=[error, error])
        its = loader(choice)
        its.begin()
        await its.settled()
        with pytest.raises(ProviderUnavailable):
            await its.within(60.0)
        assert its.stats()["state"] == "failed"
        assert choice.made[0].starts == 1
        await asyncio.sleep(5 * RETRY.first)
        assert await its.within(1.0) is choice.made[0]
        assert choice.made[0].starts == 3
        assert len(choice.made) == 1
        await its.close()

    with caplog.at_level(logging.INFO, "vixio"):
        run_virtual(run())
    cannot = [each for each in caplog.records if each.getMessage() == "provider cannot be used"]
    assert len(cannot) == 1, "repeated failures are no news"
    assert "provider works again" in caplog.text


def test_one_whose_start_may_work_later_is_not_used_before() -> None:
    async def run() -> None:
        choice = Choice("anna", errors=[DOWN])
        counters = Counters()
        its = ProviderLoader(choice, counters)
        its.begin()
        await its.settled()
        with pytest.raises(ProviderError) as caught:
            await its.within(60.0)
        assert (caught.value, caught.value.part) == (DOWN, "tts")
        assert its.stats() == {
            "kind": "tts",
            "provider": "anna",
            "state": "failed",
            "reason": "unreachable",
        }
        assert counters.get("provider.unusable") == 1
        await asyncio.sleep(2 * RETRY.first)
        assert its.stats()["state"] == "ready"
        assert choice.made[0].starts == 2
        await its.close()

    run_virtual(run())


def test_attempts_become_rare() -> None:
    async def run() -> None:
        choice = Choice("anna", errors=[MISSING] * 1_000)
        its = loader(choice)
        its.begin()
        await asyncio.sleep(24 * 3_600)
        assert choice.made[0].starts < 24 * 3_600 / RETRY.longest * 1.5 + 10
        await its.close()

    run_virtual(run())


def test_a_start_in_progress_ends_with_it() -> None:
    async def run() -> None:
        choice = Choice("anna", slow=True)
        its = loader(choice)
        its.begin()
        await asyncio.sleep(1)
        await its.close()
        await its.close()
        with pytest.raises(ProviderError, match="closed"):
            await its.within(1.0)
        assert len(asyncio.all_tasks()) == 1

    run_virtual(run())


def test_a_list_of_providers_is_ready_with_its_first() -> None:
    async def run() -> None:
        quick, slow = Voice("quick"), Voice("slow")
        slow.loads.clear()
        made: MadeProvider[TTSProvider] = MadeProvider(
            ProviderKind.TTS, FallbackTTSProvider([slow, quick], 8.0)
        )
        its = ProviderLoader(made, Counters())
        its.begin()
        await its.within(1.0)
        assert slow.starts == 1
        slow.loads.set()
        await its.close()

    run_virtual(run())


class Service(Voice):
    """A voice whose service answers trials by ``answers``, the last of them for ever."""

    def __init__(self, answers: Sequence[ProviderError | bool]) -> None:
        super().__init__("cloud")
        self.answers = list(answers)
        self.trials = 0

    async def verify(self) -> bool:
        self.trials += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, ProviderError):
            raise answer
        return answer


def of(service: Service) -> ProviderLoader[TTSProvider]:
    made: MadeProvider[TTSProvider] = MadeProvider(ProviderKind.TTS, service)
    return ProviderLoader(made, Counters())


def refused() -> ProviderUnavailable:
    return ProviderUnavailable("cloud", "the server refuses the api_key (401)", reason="no_key")


def use(its: ProviderLoader[TTSProvider], error: ProviderError | None = None) -> None:
    """Use the provider once, which fails with ``error``."""
    try:
        with its.watched():
            if error is not None:
                raise error
    except ProviderError as raised:
        assert raised is error  # noqa: PT017 - it has to be the same


def test_a_refused_key_is_known_after_the_start() -> None:
    async def run() -> None:
        service = Service([refused(), refused(), True])
        its = of(service)
        its.begin()
        await its.attempted()
        assert its.stats()["state"] == "failed"
        assert its.stats()["reason"] == "no_key"
        assert await its.within(0.0) is service, "a turn may find that the key works now"
        await asyncio.sleep(RETRY.first * 0.7)
        assert service.trials == 1
        await asyncio.sleep(4 * RETRY.first)
        assert service.trials == 3
        assert its.stats()["state"] == "ready"
        await its.close()

    run_virtual(run())


def test_trials_become_rare_and_end_with_it() -> None:
    async def run() -> None:
        service = Service([refused()])
        its = of(service)
        its.begin()
        await asyncio.sleep(24 * 3_600)
        assert service.trials < 24 * 3_600 / RETRY.longest * 1.5 + 10
        await its.close()
        assert len(asyncio.all_tasks()) == 1

    run_virtual(run())


def test_a_use_that_is_refused_and_one_that_works() -> None:
    async def run() -> None:
        its = of(Service([False]))
        its.begin()
        await its.attempted()
        assert its.stats()["state"] == "ready"
        use(its, ProviderError("cloud", "busy", reason="busy"))
        assert its.stats()["state"] == "ready", "it passes by itself"
        error = refused()
        use(its, error)
        assert its.stats()["reason"] == "no_key"
        assert error.part == "tts"
        await asyncio.sleep(10 * RETRY.longest)
        assert its.failed, "its trial says nothing"
        use(its)
        assert its.stats() == {"kind": "tts", "provider": "cloud", "state": "ready"}
        await its.close()

    run_virtual(run())


def test_a_trial_that_works_does_not_refute_a_use_that_fails() -> None:
    async def run() -> None:
        service = Service([True])
        its = of(service)
        its.begin()
        await its.attempted()
        use(its, refused())
        await asyncio.sleep(10 * RETRY.longest)
        assert its.failed, "some services show their models to everybody"
        assert service.trials == 2
        await its.close()

    run_virtual(run())


def test_one_that_mends_itself() -> None:
    async def run() -> None:
        choice = Choice("anna")
        its = loader(choice)
        its.begin()
        voice = await its.within(1.0)
        outage = ProviderError("anna", "its process is being replaced", reason=LOADING)
        voice.outage = outage
        assert its.stats()["state"] == "loading"
        voice.outage = ProviderError("anna", "it does not start", reason="service")
        assert (its.stats()["state"], its.stats()["reason"]) == ("failed", "service")
        voice.outage = None
        assert its.stats()["state"] == "ready"
        await its.close()

    run_virtual(run())
