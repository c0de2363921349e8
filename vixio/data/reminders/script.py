"""One speech that delivers what is due to a device, and the record of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from vixio.core.session.session import Session
from vixio.core.session.speech import SpeechOutcome, SpeechStatus, SpeechWithdrawn
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Operation, Rejected, Unavailable
from vixio.data.reminders import ledger
from vixio.data.reminders.ledger import Ended
from vixio.data.reminders.records import Delivery, State
from vixio.data.reminders.words import parts

T = TypeVar("T")

_log = logging.getLogger(__name__)


class DeliveryScript:
    """The words for what ``owner`` can claim when its turn has come.

    :class:`~vixio.core.session.speech.Script`. ``zone``: for times of day.
    """

    def __init__(
        self,
        link: Link[Database],
        session: Session,
        owner: str,
        zone: str,
        clock: Callable[[], int],
    ) -> None:
        self.deliveries: Sequence[Delivery] = ()
        """What it says, the most important first."""
        self._link = link
        self._session = session
        self._device = session.device_id
        self._owner = owner
        self._zone = zone
        self._clock = clock
        self._parts: Sequence[str] = ()

    async def compose(self) -> str:
        """Claim what is due; return the words. Raises SpeechWithdrawn: there is nothing."""
        now, session = self._clock(), self._session
        quiet, again = session.quiet_until is not None, session.connection.awake
        self.deliveries = await self._call(
            lambda database: ledger.claim(
                database, self._device, self._owner, now, quiet=quiet, again=again
            )
        )
        if not self.deliveries:
            raise SpeechWithdrawn("nothing is due any more")
        language = self._session.profile.language
        self._parts = parts(self.deliveries, now, language, self._zone)
        return " ".join(self._parts)

    async def begin(self) -> None:
        """Note that it is about to be heard. Raises SpeechWithdrawn: it has changed."""
        wanted = [each.id for each in self.deliveries]
        now = self._clock()
        if not await self._call(
            lambda database: ledger.begin(database, self._device, self._owner, wanted, now)
        ):
            raise SpeechWithdrawn("it has been cancelled, or is too old now")

    async def settle(self, outcome: SpeechOutcome) -> Sequence[Ended]:
        """Note what was heard of it; waits for a database that is not there.

        Returns what is over now.
        """
        if not self._parts:
            return ()
        shown = outcome.status is SpeechStatus.SHOWN
        unsaid = shown or outcome.status is SpeechStatus.DROPPED
        failed = "" if unsaid else f"speech {outcome.status.value}"
        heard = self._heard(outcome)
        ended: Sequence[Ended] = ()
        while True:
            try:
                ended = await self._link.call(
                    Operation(
                        partial(
                            ledger.end,
                            device_id=self._device,
                            owner=self._owner,
                            heard=heard,
                            now=self._clock(),
                            failed=failed,
                            shown=shown,
                        )
                    )
                )
            except Unavailable:
                await self._link.usable()
            except Rejected:  # as would be the same again
                break
            else:
                break
        for delivery, state in ended:
            if state is State.DELIVERED:
                _log.info(
                    "delivered",
                    extra={
                        "device": delivery.device_id,
                        "delivery": delivery.id,
                        "kind": delivery.kind.value,
                        "late_s": round((self._clock() - delivery.due_at) / 1000),
                    },
                )
        return ended

    def _heard(self, outcome: SpeechOutcome) -> dict[str, str]:
        """Return what was heard of each, without those that were not reached."""
        if outcome.status is SpeechStatus.PLAYED:
            return {
                each.id: words for each, words in zip(self.deliveries, self._parts, strict=True)
            }
        left = len(outcome.heard.strip())
        heard: dict[str, str] = {}
        for each, words in zip(self.deliveries, self._parts, strict=True):
            if left <= 0:
                break
            heard[each.id] = words[:left]
            left -= len(words) + 1
        return heard

    async def _call(self, work: Callable[[Database], Awaitable[T]]) -> T:
        """Raises SpeechWithdrawn where the database cannot be used."""
        try:
            return await self._link.call(Operation(work))
        except (Unavailable, Rejected) as error:
            raise SpeechWithdrawn("the database cannot be reached") from error
