"""Who may come in: what a request is told before the WebSocket upgrade."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from websockets.http11 import Request

from vixio.core.device import normalise_device_id
from vixio.core.metrics import Counters
from vixio.transports.admission.auth import Authenticator, TokenCheck
from vixio.transports.admission.connection_tracker import ConnectionTracker, TrackedConnection
from vixio.transports.admission.refusal import Refusal, busy
from vixio.transports.xiaozhi.settings import XiaozhiSettings

MAX_ID_CHARS = 128
"""Identities are MAC addresses and UUIDs; a longer one is a mistake."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The device's identity, as the request states it."""

    device_id: str
    """Normalised."""
    client_id: str
    token: str
    version: str
    sent_id: str = ""
    """The device id in the device's own spelling, where that differs."""


def read_identity(request: Request) -> Identity:
    """Read headers (websocket_protocol.cc, OpenAudioChannel) or, as browsers must, the query."""
    query = {
        name.lower(): value
        for name, value in parse_qsl(urlsplit(request.path).query, max_num_fields=None)
    }

    def field(name: str) -> str:
        # get_all: a header given twice is a client's mistake, no reason to fail.
        values = request.headers.get_all(name)
        return (values[0] if values else query.get(name.lower(), "")).strip()

    scheme, _, token = field("Authorization").rpartition(" ")
    sent_id = field("Device-Id")
    device_id = normalise_device_id(sent_id)
    return Identity(
        device_id=device_id,
        client_id=field("Client-Id"),
        token=token if scheme.strip().lower() in {"", "bearer"} else "",
        version=field("Protocol-Version"),
        sent_id=sent_id if sent_id != device_id else "",
    )


class Admission:
    """The checks, cheapest first. ``count`` devices are connected, ``is_known`` tells which.

    ``is_busy`` tells whether the process has too much to do to take on more.
    """

    def __init__(
        self,
        settings: XiaozhiSettings,
        tracker: ConnectionTracker,
        count: Callable[[], int],
        is_known: Callable[[str], bool],
        is_busy: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._tracker = tracker
        self._counters: Counters = settings.counters
        self._count = count
        self._is_known = is_known
        self._is_busy = is_busy
        self.closing = False

    def check(self, request: Request, tracked: TrackedConnection) -> Identity | Refusal:
        """Return who may come in, or the answer to who may not; never raises."""
        self._tracker.announce(tracked, request.headers.get_all("X-Forwarded-For"))
        verdict = self._place(request) or self._room(request, tracked) or self._identify(request)
        if isinstance(verdict, Identity):
            verdict = self._quota(verdict, tracked) or verdict
        if isinstance(verdict, Refusal):
            self._counters.add(verdict.counter)
        return verdict

    def _place(self, request: Request) -> Refusal | None:
        """Is this a WebSocket's request, in the right place?"""
        path = self._settings.path
        if urlsplit(request.path).path.rstrip("/") != path.rstrip("/"):
            return Refusal(
                HTTPStatus.NOT_FOUND,
                "path",
                f"Nothing is here. Devices connect a WebSocket to {path}\n",
            )
        if request.headers.get_all("Upgrade") == []:
            return Refusal(
                HTTPStatus.UPGRADE_REQUIRED,
                "no_upgrade",
                "This is the WebSocket of voice devices, not a page. "
                "A device finds it by its OTA URL (by default port 8003, /xiaozhi/ota/).\n",
            )
        return None

    def _room(self, request: Request, tracked: TrackedConnection) -> Refusal | None:
        """Does the process have room for anybody, and this address for one more?"""
        if self.closing:
            return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "closing", "The server is stopping.\n")
        if tracked.refusal is not None and not (
            # A device that comes back takes the place of its older self.
            tracked.refusal.reason == "connections"
            and self._is_known(read_identity(request).device_id)
        ):
            return tracked.refusal
        if self._is_busy():
            return busy("overload", "The server is busy, try again.\n")
        return None

    def _identify(self, request: Request) -> Identity | Refusal:
        identity = read_identity(request)
        if not identity.device_id:
            # A made-up one would hang memories on a device that never comes back.
            return Refusal(
                HTTPStatus.BAD_REQUEST,
                "no_device_id",
                "Who is it? Send a Device-Id header or ?device-id=… in the URL.\n",
            )
        if not all(_is_id(value) for value in (identity.device_id, identity.client_id)):
            return Refusal(
                HTTPStatus.BAD_REQUEST,
                "bad_device_id",
                f"Device-Id and Client-Id have at most {MAX_ID_CHARS} printable characters.\n",
            )
        if self._settings.auth is not None:
            verdict = _verify(self._settings.auth, identity)
            if verdict is not TokenCheck.VALID:
                return Refusal(HTTPStatus.UNAUTHORIZED, f"token_{verdict}", "Not authorized.\n")
        return identity

    def _quota(self, identity: Identity, tracked: TrackedConnection) -> Refusal | None:
        # After the token: nobody else can use up what a device with a token may do.
        if self._count() >= self._settings.max_connections and not self._is_known(
            identity.device_id
        ):
            return Refusal(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "full",
                f"All {self._settings.max_connections} connections are in use.\n",
            )
        return self._tracker.device(tracked, identity.device_id)


def _is_id(text: str) -> bool:
    return len(text) <= MAX_ID_CHARS and text.isprintable()


def _verify(auth: Authenticator, identity: Identity) -> TokenCheck:
    """Check the token for the normalised id, then for the spelling that older tokens have."""
    verdict = auth.verify(identity.token, identity.device_id, identity.client_id)
    if verdict is TokenCheck.WRONG and identity.sent_id:
        return auth.verify(identity.token, identity.sent_id, identity.client_id)
    return verdict
