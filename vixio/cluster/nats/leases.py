"""A node's leases: claimed on the bus, and passed from each holder to the next."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from vixio.bus.errors import BrokerError
from vixio.cluster.nats.claims import ANY, Claim, Claims, Earlier
from vixio.cluster.nats.conversations import GIVE_BACK_S, Conversations
from vixio.cluster.nats.lease import NatsLease
from vixio.core.cluster import (
    RELEASE_S,
    ClusterUnavailable,
    Lease,
    LeaseLost,
    Leases,
    LossReason,
    OnLost,
)
from vixio.core.errors import describe
from vixio.core.metrics import Counters
from vixio.core.tasks import undisturbed

CLAIM_S: Final = 2.5
"""Longest wait for the bus when a device connects; then it is served without a claim."""

if TYPE_CHECKING:
    from vixio.cluster.nats.peer_rpc import HandoverReply, PeerRpc

_log = logging.getLogger(__name__)


class NatsLeases(Leases):
    """``held`` is called when a device has a session here, or none any more.

    ``release_timeout``: seconds that a device's last holder has to end its session. Counters:
    ``cluster.claims.moved`` and ``.reconnected``, sessions that ended because their device has
    connected again; ``.overtaken``, the same before the session began.
    """

    def __init__(
        self,
        node: str,
        rpc: PeerRpc,
        claims: Claims,
        conversations: Conversations | None,
        counters: Counters,
        *,
        fresh: Callable[[], bool],
        held: Callable[[str, bool], None],
        release_timeout: float = RELEASE_S,
    ) -> None:
        self._node = node
        self._rpc = rpc
        self._claims = claims
        self._conversations = conversations
        self._counters = counters
        self._fresh = fresh
        self._held = held
        self.release_timeout = release_timeout
        self.refusal = ""
        """Why this node may not be one of the cluster; empty: it may."""
        self.look: Callable[[NatsLease], None] = lambda lease: None
        """Called with a lease that is to be looked up on the bus."""
        self._leases: dict[str, list[NatsLease]] = {}
        self._by_token: dict[tuple[str, int], NatsLease] = {}
        self._ends: dict[NatsLease, asyncio.Future[str]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._greatest = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def fresh(self) -> bool:
        """Whether the process has not stood still since it last looked."""
        return self._fresh()

    def __iter__(self) -> Iterator[NatsLease]:
        """Return those that are not over, pending ones too."""
        return iter([each for found in self._leases.values() for each in found if not each.over])

    def current(self, device_id: str) -> NatsLease | None:
        """Return the lease under which a device has its session here."""
        for lease in reversed(self._leases.get(device_id, ())):
            if lease.granted and not lease.over:
                return lease
        return None

    def of_claim(self, device_id: str, token: int) -> NatsLease | None:
        """Return the lease of a claim, unless it is over."""
        lease = self._by_token.get((device_id, token))
        if lease is None:  # the answer to its claim may have been lost
            lease = next((each for each in self._leases.get(device_id, ()) if each.unclaimed), None)
        return lease if lease is not None and not lease.over else None

    async def up_to(self, device_id: str, token: int) -> list[NatsLease]:
        """Return the leases that a claim after ``token`` ends, also those that are ending.

        Waits for a claim of this node that is under way, :data:`CLAIM_S` at most: NATS may have
        confirmed it, and the node that claimed after it may ask before that is read here.
        """
        if (lock := self._locks.get(device_id)) is not None:
            async with lock:
                pass
        return [
            each
            for each in self._leases.get(device_id, ())
            if each.unclaimed or (each.claim and each.token <= token)
        ]

    async def acquire(self, device_id: str, on_lost: OnLost) -> Lease:
        """Take the device over, from another node or from an older connection of this one."""
        if self.refusal:
            raise ClusterUnavailable(self.refusal)
        lease = NatsLease(self, device_id, on_lost)
        self._leases.setdefault(device_id, []).append(lease)
        self._ends[lease] = asyncio.get_running_loop().create_future()
        try:
            # Whoever gives up in the middle would leave a claim that hides the one before.
            await undisturbed(self._claim_and_take_over(lease))
            if lease.overtaken:
                self._counters.add("cluster.claims.overtaken")
                raise LeaseLost(f"{device_id} has connected again")
            lease.granted = True
            lease.change()
            if not lease.valid:
                self.look(lease)
            if not await lease.confirmed():
                raise LeaseLost(f"{device_id} has connected again while this process stood still")
        except BaseException:
            await undisturbed(self._abandon(lease))
            raise
        if self._conversations is not None:
            self._conversations.follow(device_id)
        self._held(device_id, True)
        return lease

    async def released(self, lease: NatsLease) -> None:
        """Give a lease back that was not lost."""
        self._held(lease.device_id, self.current(lease.device_id) is not None)
        await self._finish(lease)

    def share(self, lease: NatsLease) -> None:
        """Leave a device's conversation for its next holder."""
        self.spawn(self._save(lease))

    def lose(self, lease: NatsLease, *, moved: bool) -> asyncio.Future[str]:
        """End a lease; return what is done when it is over, with what had not been shared.

        ``moved``: the device has connected to another node, not to this one again.
        """
        end = self._ends.get(lease)
        if end is None:  # it is over
            end = asyncio.get_running_loop().create_future()
            end.set_result("")
            return end
        if not lease.granted:
            lease.overtaken = True
        elif not lease.over:
            self._counters.add(f"cluster.claims.{'moved' if moved else 'reconnected'}")
            self.spawn(self._lost(lease, lease.lose(LossReason.TAKEN)))
            self._held(lease.device_id, self.current(lease.device_id) is not None)
        lease.change()
        return end

    def claimed(self, lease: NatsLease, claim: Claim) -> None:
        """Note the claim of a lease."""
        if lease.claim is not None:
            self._by_token.pop((lease.device_id, lease.token), None)
        lease.claim = claim
        lease.unclaimed = False
        lease.gave_way.clear()
        lease.token = claim.token
        self._greatest = max(self._greatest, claim.token)
        self._by_token[lease.device_id, claim.token] = lease

    def go_on(self, lease: NatsLease, claim: int) -> None:
        """A later claim gives way to a lease, which is looked up when its session has begun.

        ``claim``: the token of that claim, 0: it only asked.
        """
        if claim:
            lease.gave_way.add(claim)
        self.spawn(self._look_once_settled(lease))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do ``work`` beside."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End what is under way; the sessions are over."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _claim_and_take_over(self, lease: NatsLease) -> None:
        await self._claim(lease)
        if lease.overtaken:
            return
        lease.handover = await self._take_over(lease)
        if lease.claim is None or not lease.succeeded or lease.outlived or lease.gave_way:
            return  # the last one: there is a later claim
        with suppress(BrokerError):  # the next holder asks once too often
            lease.claim = await self._claims.settle(lease.device_id, lease.claim)

    async def _claim(self, lease: NatsLease) -> None:
        """Claim the device. Claims of this process keep the order of their connections."""
        # Kept as long as there is a lease: whoever waits for it is one.
        async with self._locks.setdefault(lease.device_id, asyncio.Lock()):
            if self._leases[lease.device_id][-1] is not lease:
                lease.overtaken = True
                return
            if self._rpc.connected:
                try:
                    async with asyncio.timeout(CLAIM_S):
                        claim = await self._claims.claim(lease.device_id, self._node)
                except (BrokerError, TimeoutError) as error:
                    _log.warning("device not claimed", extra={"reason": describe(error)})
                else:
                    self.claimed(lease, claim)
                    return
            # Without a bus it is served all the same, and claimed when there is one.
            self._greatest += 1
            lease.token = self._greatest
            lease.unclaimed = True
            self.look(lease)

    async def _take_over(self, lease: NatsLease) -> str:
        """Have the holders before end their sessions; return the conversation they left.

        Empty: this process has it itself, or there is none.
        """
        earlier = lease.claim.earlier if lease.claim is not None else self._known(lease.device_id)
        here = {token for node, token in earlier if node == self._node}
        ends: list[tuple[int, asyncio.Future[str]]] = []
        own = -1
        all_of_it = self._leases[lease.device_id]
        for each in all_of_it[: all_of_it.index(lease)]:
            if each.granted and (lease.claim is None or each.unclaimed):
                own = ANY
            elif each.granted and each.token in here:
                own = max(own, each.token)
            ends.append((each.token, self.lose(each, moved=False)))
        asking = [
            (token, asyncio.create_task(self._ask(lease, node, token)))
            for node, token in earlier
            if node not in ("", self._node)
        ]
        handed: list[tuple[int, str]] = []
        if ends or asking:
            waiting: list[asyncio.Future[Any]] = [end for _, end in ends]
            waiting += [task for _, task in asking]
            _, late = await asyncio.wait(waiting, timeout=self.release_timeout)
            for _, task in asking:
                task.cancel()
            lease.succeeded = not late
            answers = [(token, task.result()) for token, task in asking if task not in late]
            if any(answer.goes_on for _, answer in answers):
                lease.overtaken = lease.outlived = True
                return ""
            handed = [(token, end.result()) for token, end in ends if end not in late]
            handed += [(token, answer.handover) for token, answer in answers]
        token, text = max((each for each in handed if each[1]), default=(-1, ""))
        last = max((each.token for each in earlier), default=0)
        if lease.claim is not None and max(own, token) < last and self._conversations is not None:
            left = await self._conversations.find(lease.device_id, after=max(own, token))
            if left is not None:
                return left
        if text:
            lease.keep_handover(text)  # it is not saved, and the holder before may fail to
        return text if token > own else ""

    async def _ask(self, lease: NatsLease, node: str, token: int) -> HandoverReply:
        return await self._rpc.try_to_ask(node, lease.device_id, token, lease.age, lease.token)

    def _known(self, device_id: str) -> Sequence[Earlier]:
        """Return who has a device as far as is known without the claims."""
        node = self._rpc.holder(device_id) if self._rpc.connected else ""
        return [Earlier(node, ANY)] if node else []

    async def _look_once_settled(self, lease: NatsLease) -> None:
        await lease.settled()
        self.look(lease)

    async def _lost(self, lease: NatsLease, ending: asyncio.Task[None]) -> None:
        await ending
        self._end(lease)
        # The next holder has it too, but may be gone before it has saved it.
        await self._save(lease)

    async def _abandon(self, lease: NatsLease) -> None:
        """The acquisition is given up, or overtaken."""
        if not lease.granted:
            lease.overtaken = True
        elif not lease.over:
            await Lease.release(lease)
        await self._finish(lease)

    async def _finish(self, lease: NatsLease) -> None:
        """Let the next holder go on, then leave the conversation and give the claim back."""
        try:
            self._hand_over(lease)
            await self._save(lease)
            await self._give_back(lease)
        finally:
            self._end(lease)

    async def _give_back(self, lease: NatsLease) -> None:
        if lease.claim is None or lease.outlived or not self._rpc.connected:
            return
        try:
            async with asyncio.timeout(GIVE_BACK_S):
                await self._claims.give_back(lease.device_id, lease.claim)
        except (BrokerError, TimeoutError):
            pass  # the next holder asks this node, which says that it is over

    async def _save(self, lease: NatsLease) -> None:
        if self._conversations is not None:
            await self._conversations.save(lease)

    def _hand_over(self, lease: NatsLease) -> None:
        """The session is over: the next holder gets what the bucket may not have yet."""
        end = self._ends.get(lease)
        if end is not None and not end.done():
            end.set_result(lease.unsaved() or ("" if lease.granted else lease.handover))

    def _end(self, lease: NatsLease) -> None:
        self._hand_over(lease)
        device_id = lease.device_id
        if self._ends.pop(lease, None) is None:
            return
        self._by_token.pop((device_id, lease.token), None)
        found = self._leases[device_id]
        found.remove(lease)
        if not found:
            del self._leases[device_id]
            self._locks.pop(device_id, None)
            if self._conversations is not None:
                self._conversations.forget(device_id)
        lease.change()
        self._held(device_id, self.current(device_id) is not None)
