"""The registry as a running server uses it: who may come in, and what is known of them.

Nothing but OTA waits for the database. Whether a device may connect is decided by its signed token
and by what this process knows (:class:`~vixio.data.devices.registry_cache.RegistrySnapshot`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar

from vixio.core.backoff import Backoff
from vixio.core.messages import message
from vixio.core.metrics import Counters
from vixio.core.session.events import (
    ConversationOpened,
    DeviceToolsListed,
    Event,
    SessionClosed,
    SessionOpened,
)
from vixio.core.tasks import cancel_and_wait
from vixio.core.wall_clock import now_ms
from vixio.data.database.audit import Change
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Operation, Rejected, Unavailable
from vixio.data.devices.activation import read_proof
from vixio.data.devices.contact_writer import ContactWriter
from vixio.data.devices.contacts import Contact, DeviceContacts
from vixio.data.devices.records import UNKNOWN, AccessMode, DeviceRecord, NameTaken, RegistryError
from vixio.data.devices.registry_cache import RegistryChanges, RegistrySnapshot, read_changes
from vixio.data.devices.repository import DeviceRepository
from vixio.data.devices.tokens import DeviceTokens, Ticket
from vixio.transports.admission.access import (
    Access,
    Activation,
    OtaDecision,
    OtaRequest,
    RegistryUnavailable,
)
from vixio.transports.admission.auth import TokenCheck
from vixio.transports.admission.identity import Identity
from vixio.transports.admission.refusal import Refusal

POLL_S: Final = 1.0
"""How often the audit trail is looked at: how soon a command takes effect."""

UNREADABLE: Final = Backoff(first=POLL_S, longest=60.0)
"""Pauses where the audit trail cannot be read."""

VISIT_S: Final = 5.0
"""How long OTA waits for the database; a device waits longer, and asks again."""

SKEW_MS: Final = 1_000
"""How far the clocks of two servers may be apart: both read that of the database."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a device is not let in: words of the catalogues, and a person's reason."""

    key: str
    reason: str = ""

    def words(self, language: str) -> str:
        """Return what the device shows."""
        return message(self.key, language, reason=self.reason)


Unwelcome = Callable[[str, Rejection], None]
"""Ends the session of a device that may no longer be here."""


def _blocked(reason: str) -> Rejection:
    return Rejection("device_blocked_because" if reason else "device_blocked", reason)


class DeviceRegistry(Access):
    """``tokens`` None: none are needed. ``language``: of devices that do not state theirs.
    ``by_mqtt``: whether a device of this carrier of its own is served over MQTT."""

    def __init__(
        self,
        link: Link[Database],
        mode: AccessMode,
        tokens: DeviceTokens | None,
        counters: Counters,
        *,
        language: str = "en",
        by_mqtt: Callable[[str], bool] = lambda _carrier: False,
    ) -> None:
        self._link = link
        self._by_mqtt = by_mqtt
        self._mode = mode
        self._tokens = tokens
        self._counters = counters
        self._language = language
        self.known = RegistrySnapshot()
        """What this process knows; for reading."""
        self._in_use: dict[str, Ticket] = {}
        """The token of each connected device."""
        self._unsure: set[str] = set()
        """Connected devices of which nothing is known yet that says that they may be here."""
        self._catching_up = asyncio.Lock()
        self._contacts = ContactWriter(link, counters, self._replaced)
        self._following: asyncio.Task[None] | None = None
        self.on_written: Callable[[], None] = lambda: None
        """Called when something may have been written, here or elsewhere; at most once a second,
        but for changes at the repository."""
        self.on_changed: Callable[[], None] = lambda: None
        """Called when names or profiles may have changed."""
        self.on_access: Callable[[], None] = lambda: None
        """Called when access points may have changed."""
        self.on_audit: Callable[[Sequence[Change]], None] = lambda _changes: None
        """Called with new entries of the audit trail."""
        self.on_waiting: Callable[[DeviceRecord], None] = lambda _device: None
        """Called with a device that has to wait, when it comes first and when it has a new code."""
        self.on_unwelcome: Unwelcome = lambda _device_id, _rejection: None

    @property
    def admits_strangers(self) -> bool:
        """Where every device may use the server. It gets no token."""
        return self._mode is AccessMode.OPEN

    def start(self) -> None:
        """Begin to open the database, and to follow its changes. Returns at once."""
        self._following = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Write what is not written, for a bounded time, and disconnect. Idempotent."""
        following, self._following = self._following, None
        await cancel_and_wait(following)
        await self._contacts.stop()
        await self._link.close()

    @property
    def link(self) -> Link[Database]:
        """The database, for what else is kept there. :meth:`stop` closes it."""
        return self._link

    def problem(self) -> str:
        """Return why the database cannot be used; empty: it can."""
        return "" if self._link.healthy else "the database cannot be reached"

    def stats(self) -> dict[str, int]:
        """Return gauges for health pages."""
        standings = self.known.standings.values()
        return {
            "devices_known": len(standings),
            "devices_claimed": sum(standing.claimed for standing in standings),
        }

    async def with_repository(self, work: Callable[[DeviceRepository], Awaitable[T]]) -> T:
        """Have a change made, and take it into account at once.

        Raises RegistryError, RegistryUnavailable.
        """
        return await self.change(lambda database: work(DeviceRepository(database)))

    async def catch_up(self) -> None:
        """Take into account at once what :meth:`use` has added to the audit trail: of the changes
        of its own connection, SQLite says nothing. Raises RegistryUnavailable."""
        await self._catch_up(sure=True)

    def recognises(self, identity: Identity) -> bool:
        """Whether a token is one of this device's own that is good; of blocked devices, none is."""
        if self._tokens is None:
            return False
        standing = self.known.standings.get(identity.device_id, UNKNOWN)
        if standing.blocked is not None:
            return False
        verdict, ticket = self._tokens.verify(identity)
        return verdict is TokenCheck.VALID and self._holds(ticket, identity)

    async def use(self, work: Callable[[Database], Awaitable[T]]) -> T:
        """Do ``work`` on the database. Raises RegistryUnavailable, RegistryError."""
        try:
            return await self._link.call(Operation(work, (RegistryError,)))
        except Unavailable as error:
            raise RegistryUnavailable from error
        except Rejected as error:
            self._counters.add("registry.rejected")
            raise RegistryError("the registry does not take this value") from error

    async def change(self, work: Callable[[Database], Awaitable[T]]) -> T:
        """Do ``work``, which writes to the audit trail, and take it into account at once.

        Raises as :meth:`use`.
        """
        # A device that is forgotten would come back with what was noted before.
        await self._contacts.caught_up()
        done = await self.use(work)
        await self.catch_up()
        return done

    # ── Access ───────────────────────────────────────────────────────────────────────────────

    async def decide(self, ota_request: OtaRequest) -> OtaDecision:
        try:
            async with asyncio.timeout(VISIT_S):
                device, token = await self.use(
                    lambda database: DeviceContacts(database).decide(
                        ota_request, self._mode, self._tokens, self._by_mqtt
                    )
                )
        except NameTaken:
            self._counters.add("registry.names_taken")
            language = ota_request.language or self._language
            words = message("device_unknown", language, device=ota_request.device_id)
            return OtaDecision(admitted=False, message=words)
        except (RegistryUnavailable, RegistryError, TimeoutError):
            return self._offline(ota_request)
        self.known.standings[device.id] = device.standing
        text = token.text if token else ""
        if device.standing.lets_in(self._mode, ota_request.client_id):
            aec, mqtt = "aec" in device.features, self._by_mqtt(device.carrier)
            return OtaDecision(admitted=True, token=text, server_aec=aec, mqtt=mqtt)
        if device.last_seen in (device.first_seen, device.code_at):
            self.on_waiting(device)
        language = ota_request.language or self._language
        return self._notice(device, language, text)

    async def activate(self, device_id: str, client_id: str, body: bytes) -> Activation:
        standing = self.known.standings.get(device_id, UNKNOWN)
        if standing.unproven and standing.blocked is None:
            proof = read_proof(body)
            device = await self.use(
                lambda database: DeviceContacts(database).prove(device_id, client_id, proof)
            )
            if device is not None:
                standing = self.known.standings[device_id] = device.standing
            if standing.unproven:
                self._counters.add("registry.wrong_proof")
                return Activation.REFUSED
        if standing.blocked is not None:
            return Activation.REFUSED
        welcome = standing.lets_in(self._mode, client_id)
        return Activation.DONE if welcome else Activation.WAITING

    def check(self, identity: Identity) -> Refusal | None:
        standing = self.known.standings.get(identity.device_id, UNKNOWN)
        if standing.blocked is not None:
            why = f": {standing.blocked}" if standing.blocked else ""
            return Refusal(HTTPStatus.FORBIDDEN, "blocked", f"This device is blocked{why}.\n")
        if self._tokens is None:
            return None
        verdict, ticket = self._tokens.verify(identity)
        if verdict is TokenCheck.VALID and not self._holds(ticket, identity):
            verdict = TokenCheck.REVOKED
        if verdict is not TokenCheck.VALID:
            return Refusal(HTTPStatus.UNAUTHORIZED, f"token_{verdict}", "Not authorized.\n")
        if ticket.id and self._in_use.get(identity.device_id) != ticket:
            self._contacts.used(ticket.id)
            self._in_use[identity.device_id] = ticket
        return None

    def __call__(self, event: Event) -> None:
        """Note when devices come and go; for the event bus."""
        at = now_ms()
        if isinstance(event, SessionOpened | ConversationOpened) and event.device is not None:
            device = event.device
            features = tuple(sorted(device.features))
            # Without a claim, a device may come without a visit to OTA.
            new = self._mode is AccessMode.OPEN
            self._contacts.seen(device.id, Contact(at, device.address, features, may_be_new=new))
        elif isinstance(event, DeviceToolsListed):
            self._contacts.seen(event.device_id, Contact(at, tools=event.names))
        elif isinstance(event, SessionClosed):
            self._contacts.seen(event.device_id, Contact(at))

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _holds(self, ticket: Ticket, identity: Identity) -> bool:
        """Whether a token with a right signature is still good."""
        if ticket.id in self.known.revoked:
            return False
        standing = self.known.standings.get(identity.device_id)
        if self._outdated_by(ticket):
            return True
        if standing is None:
            # Unknown: not read yet, or forgotten. Where devices are claimed, only the former.
            unread = not self.known.loaded and not ticket.waits
            return self._mode is AccessMode.OPEN or unread
        if not ticket.id:
            return self._mode is AccessMode.OPEN and not standing.tokens_from
        welcome = standing.lets_in(self._mode, identity.client_id)
        return welcome and ticket.outlives(standing, self._mode)

    def _outdated_by(self, ticket: Ticket) -> bool:
        """Whether the token is newer than this process's snapshot of the registry.

        Another process may have issued it. Not a token from the future: the clock was set back
        since. Nor one that waits for a claim, which has to be in the snapshot.
        """
        newer = self.known.at - SKEW_MS <= ticket.issued_at <= now_ms() + SKEW_MS
        return bool(ticket.id) and not ticket.waits and newer

    def _offline(self, ota_request: OtaRequest) -> OtaDecision:
        """Answer a visit without the database: as usual, where what is known suffices."""
        self._counters.add("registry.offline_visits")
        standing = self.known.standings.get(ota_request.device_id, UNKNOWN)
        if not standing.lets_in(self._mode, ota_request.client_id):
            raise RegistryUnavailable
        self._contacts.seen(ota_request.device_id, Contact(now_ms(), ota_request.address))
        mqtt = self._by_mqtt(standing.carrier)
        if self._tokens is None:
            return OtaDecision(admitted=True, mqtt=mqtt)
        token = self._tokens.issue(
            ota_request.device_id, ota_request.client_id, since=standing.tokens_from, lasting=mqtt
        )
        self._contacts.issued(token)
        return OtaDecision(admitted=True, token=token.text, mqtt=mqtt)

    def _notice(self, device: DeviceRecord, language: str, token: str) -> OtaDecision:
        """Tell a device that is not let in why, in its language. ``token``: for after the claim."""
        if device.blocked_at is not None:
            words = _blocked(device.block_reason).words(language)
            return OtaDecision(admitted=False, message=words)
        if device.code is not None and self._mode is AccessMode.ACTIVATION:
            words = message("device_code", language, code=device.code)
            return OtaDecision(
                admitted=False,
                token=token,
                code=device.code,
                message=words,
                challenge=device.challenge,
                mqtt=self._by_mqtt(device.carrier),
            )
        words = message("device_unknown", language, device=device.id)
        return OtaDecision(admitted=False, message=words, challenge=device.challenge)

    async def _follow(self) -> None:
        failures = 0
        while True:
            try:
                await self._catch_up()
            except RegistryUnavailable:
                await self._link.usable()
            except RegistryError:  # what cannot be read is there at the next look too
                failures += 1
                await asyncio.sleep(UNREADABLE.delay(failures))
            else:
                failures = 0
                await asyncio.sleep(POLL_S)

    async def _catch_up(self, *, sure: bool = False) -> None:
        """Take changes of others into account. Raises RegistryUnavailable."""
        async with self._catching_up:  # an older answer must not come after a newer one
            known, at = self.known, now_ms()
            news = await self.use(
                lambda database: read_changes(database, known.last, at, sure=sure)
            )
            known.at = at
            unsure, self._unsure = self._unsure, set()
            if news is not None:
                self.on_written()
            if news is not None and news.last != known.last:
                unsure |= self._apply(news)
            for device_id in unsure:
                self._look_again(device_id)

    def _apply(self, news: RegistryChanges) -> set[str]:
        """Bring what is known up to date; return the devices that may have to leave."""
        concerned = set(news.apply(self.known))
        if news.everything:  # also those that were let in before anything was read
            concerned |= set(self._in_use)
        self._forget_expired()
        if concerned or news.profiles is not None or news.people is not None:
            self.on_changed()
        self.on_access()
        self.on_audit(news.changes)
        return concerned | {
            device_id for device_id, ticket in self._in_use.items() if ticket.id in news.revoked
        }

    def _look_again(self, device_id: str) -> None:
        """Have a device that may no longer be here sent away."""
        standing = self.known.standings.get(device_id, UNKNOWN)
        ticket = self._in_use.get(device_id)
        if standing.blocked is not None:
            self.on_unwelcome(device_id, _blocked(standing.blocked))
        elif ticket is None:
            return
        elif ticket.id in self.known.revoked or not ticket.outlives(standing, self._mode):
            self._send_away(device_id)
        elif self._mode is not AccessMode.OPEN and not standing.claimed:
            if self._outdated_by(ticket):
                self._unsure.add(device_id)  # claimed since, or forgotten: the next look tells
            else:
                self._send_away(device_id)

    def _send_away(self, device_id: str) -> None:
        del self._in_use[device_id]
        self.on_unwelcome(device_id, Rejection("device_revoked"))

    def _replaced(self, tokens: dict[str, int]) -> None:
        """Tokens that a newer one of the same device replaces are void, until they expire."""
        self.known.revoked |= tokens

    def _forget_expired(self) -> None:
        now = now_ms()
        revoked = self.known.revoked
        for token_id in [each for each, expiry in revoked.items() if expiry < now]:
            del revoked[token_id]
