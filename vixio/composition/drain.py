"""The end of a server that devices talk to: no new ones, and what is being said is finished."""

from __future__ import annotations

import asyncio
import logging

from vixio.core.clock import now
from vixio.core.cluster import DRAINING
from vixio.core.host import SessionHost
from vixio.core.session.events import Event, SessionClosed, SessionOpened
from vixio.transports.admission.admission import Admission

_log = logging.getLogger(__name__)


class Drain:
    """Lets the sessions of this process end by themselves, within a bound.

    A session ends (1001) once nobody speaks in it: at once if it is idle, otherwise behind its
    reply. In the second half of the time a reply ends with the sentence that sounds.
    """

    def __init__(self, host: SessionHost, admission: Admission) -> None:
        self._host = host
        self._admission = admission
        self._draining = False
        self._open: set[str] = set()
        self._empty = asyncio.Event()

    def reason(self) -> str:
        """Return why the process gets no new devices; for the readiness."""
        return "the process is about to stop" if self._draining else ""

    async def __call__(self, seconds: float) -> None:
        """Refuse new devices, and return when no session is left, after ``seconds`` at most."""
        self._draining = self._admission.stopping = True
        self._admission.cluster.limits.set(DRAINING, "", 1)
        self._host.events.attach(self._follow)
        sessions = list(self._host.sessions)
        self._open = {session.session_id for session in sessions}
        _log.info("draining", extra={"devices": len(sessions), "limit": seconds})
        began = now()
        for whole in (True, False):
            for session in self._host.sessions:
                session.leave(whole=whole)
            if await self._emptied(seconds / 2):
                break
        fields = {"devices": len(self._open), "seconds": round(now() - began, 2)}
        if self._open:
            _log.warning("drained, some devices did not finish", extra=fields)
        else:
            _log.info("drained", extra=fields)

    async def _emptied(self, seconds: float) -> bool:
        """Wait for the end of all sessions."""
        if self._open:
            try:
                async with asyncio.timeout(seconds):
                    await self._empty.wait()
            except TimeoutError:
                return False
        return True

    def _follow(self, event: Event) -> None:
        match event:
            case SessionOpened(session_id=session_id):  # its hello was under way
                self._open.add(session_id)
                self._empty.clear()
                if (session := self._host.sessions.get(session_id)) is not None:
                    session.leave()
            case SessionClosed(session_id=session_id):
                self._open.discard(session_id)
                if not self._open:
                    self._empty.set()
            case _:
                pass
