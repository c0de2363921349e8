"""Providers are shared by equal choices, and closed when they are used no more."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.providers.pool.support import Choice, Voice
from vixio.core.errors import ProviderError
from vixio.core.metrics import Counters
from vixio.providers.pool.choice import MadeProvider
from vixio.providers.pool.pool import ProviderPool
from vixio.providers.registry import ProviderKind
from vixio.testing import run_virtual


def test_equal_choices_share_a_provider() -> None:
    async def run() -> None:
        pool = ProviderPool(Counters())
        one, same, other = Choice("anna"), Choice("anna"), Choice("bert")
        leases = [pool.lease(choice) for choice in (one, same, other)]
        for lease in leases:
            lease.loader.begin()
            await lease.loader.settled()
        assert leases[0].loader is leases[1].loader
        assert (len(one.made), len(same.made), len(other.made)) == (1, 0, 1)
        assert [(each["provider"], each["sessions"]) for each in pool.stats()] == [
            ("anna", 2),
            ("bert", 1),
        ]
        await pool.close()
        assert one.made[0].closes == other.made[0].closes == 1

    run_virtual(run())


def test_a_lease_alone_makes_nothing() -> None:
    async def run() -> None:
        pool = ProviderPool(Counters())
        choice = Choice("anna")
        lease = pool.lease(choice)
        assert choice.made == []
        assert lease.loader.make() is choice.made[0]
        assert choice.made[0].starts == 0
        await pool.close()

    run_virtual(run())


def test_a_lease_may_leave_its_provider_open_for_less_time() -> None:
    async def run() -> None:
        pool = ProviderPool(Counters(), linger=60.0)
        choice = Choice("anna")
        lease, other = pool.lease(choice), pool.lease(choice)
        lease.loader.begin()
        await lease.loader.settled()
        lease.release(linger=5.0)
        await asyncio.sleep(6)
        assert choice.made[0].closes == 0, "another one uses it"
        other.release(linger=5.0)
        await asyncio.sleep(6)
        assert choice.made[0].closes == 1
        await pool.close()

    run_virtual(run())


def test_a_provider_is_closed_some_time_after_its_last_lease() -> None:
    async def run() -> None:
        counters = Counters()
        pool = ProviderPool(counters, linger=10.0)
        choice = Choice("anna")
        first, second = pool.lease(choice), pool.lease(choice)
        first.loader.begin()
        await first.loader.settled()
        first.release()
        first.release()
        await asyncio.sleep(60)
        assert choice.made[0].closes == 0, "one lease is left"
        second.release()
        await asyncio.sleep(9)
        third = pool.lease(choice)
        await asyncio.sleep(60)
        assert choice.made[0].closes == 0, "it was used again in time"
        third.release()
        await asyncio.sleep(11)
        assert choice.made[0].closes == 1
        assert pool.stats() == []
        assert counters.get("provider.closed") == 1
        pool.lease(choice).loader.begin()
        await asyncio.sleep(1)
        assert len(choice.made) == 2, "made anew"
        await pool.close()

    run_virtual(run())


def test_unused_providers_make_room_and_a_full_pool_refuses() -> None:
    async def run() -> None:
        counters = Counters()
        pool = ProviderPool(counters, capacity=2)
        choices = [Choice(name) for name in ("a", "b", "c", "d")]
        leases = [pool.lease(choice) for choice in choices[:2]]
        for lease in leases:
            lease.loader.begin()
            await lease.loader.settled()
        refused = pool.lease(choices[2])
        refused.loader.begin()
        with pytest.raises(ProviderError) as caught:
            await refused.loader.within(10.0)
        assert caught.value.reason == "busy"
        assert choices[2].made == []
        refused.release()

        leases[1].release()
        await asyncio.sleep(1)
        leases[0].release()
        pool.lease(choices[3]).loader.begin()
        await asyncio.sleep(1)
        assert choices[1].made[0].closes == 1, "unused for the longest time"
        assert choices[0].made[0].closes == 0
        assert counters.get("provider.refused") == 1
        await pool.close()
        assert choices[0].made[0].closes == 1

    run_virtual(run())


def test_one_that_fails_to_close_does_not_keep_the_others() -> None:
    class Stubborn(Voice):
        async def close(self) -> None:
            raise OSError("no")

    async def run() -> None:
        pool = ProviderPool(Counters())
        voice, stubborn = Voice("anna"), Stubborn("bert")
        for each in (voice, stubborn):
            pool.lease(MadeProvider(ProviderKind.TTS, each)).loader.make()
        await pool.close()
        assert voice.closes == 1
        assert pool.stats() == []
        with pytest.raises(ProviderError):
            await pool.lease(Choice("late")).loader.within(1.0)

    run_virtual(run())
