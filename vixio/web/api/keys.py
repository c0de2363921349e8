"""Personal tokens, sessions and the password, on an open database: by commands and the API.

A token is 256 random bits behind a prefix that secret scanners can find. Its SHA-256 is stored,
which suffices for a value that cannot be guessed. Changes stand in the audit trail.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from vixio.core.wall_clock import now_ms
from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database, Row, Transaction
from vixio.data.devices.records import NotKnown, RegistryError
from vixio.web.api.scopes import ALL, Scope

USER: Final = "admin"
"""The one user of the console, whose password :meth:`Keys.set_password` sets."""

DAY_MS: Final = 86_400_000
SESSION_MS: Final = 12 * 3_600_000
"""How long a login lasts."""

LINK_MS: Final = 15 * 60_000
"""How long a link can be followed."""

USED_MS: Final = 60_000
"""How exact the time of the last use is: a write for each request would be too many."""

MAX_NAME: Final = 64
MAX_TOKENS: Final = 1_000
"""Personal tokens that are not revoked, and sessions that are not over."""

MAX_USER_AGENT: Final = 100
"""Characters of it that are kept."""

LOCK: Final = "vixio.api"


class TokenKind(StrEnum):
    """How a token came about."""

    PERSONAL = "personal"
    SESSION = "session"
    """By a login with the password."""
    LINK = "link"
    """In an address that makes one login, and is void then."""


_PREFIXES: Final = {
    TokenKind.PERSONAL: "vixio_pat_",
    TokenKind.SESSION: "vixio_ses_",
    TokenKind.LINK: "vixio_link_",
}

_HOLDERS: Final = (_PREFIXES[TokenKind.PERSONAL], _PREFIXES[TokenKind.SESSION])
"""Of what a request can carry."""


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A token of the API. Times are milliseconds since 1970; None: never, or not yet."""

    id: str
    kind: TokenKind
    name: str
    scopes: frozenset[Scope]
    created_at: int
    created_by: str
    expires_at: int | None
    used_at: int | None
    """Last use, to the minute."""
    revoked_at: int | None
    address: str = ""
    """Of a login: from which it was made."""
    user_agent: str = ""
    """Of a login: what the browser said of itself, clipped."""

    @classmethod
    def of(cls, row: Row) -> KeyRecord:
        """Read a row of the table ``api_tokens``."""
        values = dict(row)
        del values["digest"]
        values["kind"] = TokenKind(values["kind"])
        values["scopes"] = frozenset(Scope(each) for each in json.loads(values["scopes"]))
        return cls(**values)

    def state(self, now: int) -> str:
        """``valid``, ``expired`` or ``revoked``."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "valid"


class Keys:
    """The operations. ``clock``: milliseconds since 1970."""

    def __init__(self, database: Database, clock: Callable[[], int] = now_ms) -> None:
        self._database = database
        self._clock = clock

    async def create(
        self, name: str, scopes: Collection[Scope], actor: str, *, days: int | None = None
    ) -> tuple[KeyRecord, str]:
        """Make a personal token; return it, and its text, which is not stored.

        ``days``: until it expires; None: never. Raises RegistryError.
        """
        name = name.strip()
        if not 0 < len(name) <= MAX_NAME or not name.isprintable():
            raise RegistryError(f"a token needs a name of at most {MAX_NAME} characters")
        expires = None if days is None else self._clock() + days * DAY_MS
        return await self._add(TokenKind.PERSONAL, name, scopes, actor, expires)

    async def open_session(
        self, address: str = "", user_agent: str = "", user: str = USER
    ) -> tuple[KeyRecord, str]:
        """Make the token of a login, for everything; its password was right.

        ``address``: of the client. ``user_agent``: anything; it is clipped. ``user``: who it is.
        """
        expires = self._clock() + SESSION_MS
        origin = (address, _printable(user_agent))
        return await self._add(TokenKind.SESSION, user, ALL, f"api:{user}", expires, origin)

    async def make_link(self, actor: str) -> str:
        """Return the text of a link that makes one login; it is not stored."""
        _, text = await self._add(TokenKind.LINK, USER, (), actor, self._clock() + LINK_MS)
        return text

    async def follow_link(
        self, text: str, address: str = "", user_agent: str = ""
    ) -> tuple[KeyRecord, str] | None:
        """Make the link void and open a session; None: it was followed before, or is over."""
        async with self._database.transaction() as transaction:
            found = await transaction.execute(
                "DELETE FROM api_tokens WHERE digest = :digest AND kind = 'link' "
                "AND expires_at > :at",
                digest=_digest(text),
                at=self._clock(),
            )
        return await self.open_session(address, user_agent) if found else None

    async def _add(
        self,
        kind: TokenKind,
        name: str,
        scopes: Collection[Scope],
        actor: str,
        expires_at: int | None,
        origin: tuple[str, str] = ("", ""),
    ) -> tuple[KeyRecord, str]:
        text = _PREFIXES[kind] + secrets.token_urlsafe(32)
        token_id, at = secrets.token_hex(8), self._clock()
        async with self._database.transaction() as transaction:
            await transaction.lock(LOCK)
            await transaction.execute(
                "DELETE FROM api_tokens WHERE kind IN ('session', 'link') "
                "AND (expires_at <= :at OR revoked_at IS NOT NULL)",
                at=at,
            )
            row = await transaction.fetch_one(
                "SELECT COUNT(*) AS number FROM api_tokens "
                "WHERE kind = :kind AND revoked_at IS NULL",
                kind=str(kind),
            )
            if row is not None and row["number"] >= MAX_TOKENS:
                raise RegistryError(f"there are {MAX_TOKENS} tokens already: revoke some first")
            await transaction.execute(
                "INSERT INTO api_tokens (id, digest, kind, name, scopes, created_at, created_by, "
                "expires_at, address, user_agent) VALUES (:id, :digest, :kind, :name, :scopes, "
                ":at, :actor, :expires_at, :address, :user_agent)",
                id=token_id,
                digest=_digest(text),
                kind=str(kind),
                name=name,
                scopes=json.dumps(sorted(scopes)),
                at=at,
                actor=actor,
                expires_at=expires_at,
                address=origin[0],
                user_agent=origin[1],
            )
            action = "logged in" if kind is TokenKind.SESSION else "created"
            detail = {"name": name, "scopes": sorted(scopes)}
            await AuditTable(transaction).add(at, actor, action, f"api-token:{token_id}", **detail)
        return await self.find(token_id), text

    async def find(self, token_id: str) -> KeyRecord:
        """Return a token. Raises NotKnown."""
        async with self._database.transaction(write=False) as transaction:
            row = await transaction.fetch_one(
                "SELECT * FROM api_tokens WHERE id = :id", id=token_id
            )
        if row is None:
            raise NotKnown(f"no API token {token_id!r} is known: `vixio api-tokens` lists them")
        return KeyRecord.of(row)

    async def all(self) -> Sequence[KeyRecord]:
        """Return the personal tokens, the newest first."""
        async with self._database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                "SELECT * FROM api_tokens WHERE kind = 'personal' ORDER BY created_at DESC, id"
            )
        return [KeyRecord.of(row) for row in rows]

    async def sessions(self) -> Sequence[KeyRecord]:
        """Return the logins that are not over, the newest first."""
        async with self._database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                "SELECT * FROM api_tokens WHERE kind = 'session' AND revoked_at IS NULL "
                "AND expires_at > :at ORDER BY created_at DESC, id",
                at=self._clock(),
            )
        return [KeyRecord.of(row) for row in rows]

    async def end_session(self, token_id: str, actor: str) -> None:
        """End a login at once. Raises NotKnown, also for one that is over."""
        at = self._clock()
        async with self._database.transaction() as transaction:
            changed = await transaction.execute(
                "UPDATE api_tokens SET revoked_at = :at WHERE id = :id AND kind = 'session' "
                "AND revoked_at IS NULL AND expires_at > :at",
                at=at,
                id=token_id,
            )
            if not changed:
                raise NotKnown(f"there is no login {token_id!r}, or it is over")
            await AuditTable(transaction).add(at, actor, "revoked", f"api-token:{token_id}")

    async def revoke(self, token_id: str, actor: str) -> None:
        """Make a token void at once. Raises NotKnown, RegistryError."""
        at = self._clock()
        async with self._database.transaction() as transaction:
            changed = await transaction.execute(
                "UPDATE api_tokens SET revoked_at = :at WHERE id = :id AND revoked_at IS NULL",
                at=at,
                id=token_id,
            )
            if changed:
                await AuditTable(transaction).add(at, actor, "revoked", f"api-token:{token_id}")
                return
        await self.find(token_id)
        raise RegistryError(f"the API token {token_id} is revoked already")

    async def holder(self, text: str) -> KeyRecord | None:
        """Return the token of this text if it is valid, and note its use."""
        if not text.startswith(_HOLDERS) or len(text) > 100:
            return None
        at = self._clock()
        async with self._database.transaction(write=False) as transaction:
            row = await transaction.fetch_one(
                "SELECT * FROM api_tokens WHERE digest = :digest", digest=_digest(text)
            )
        record = KeyRecord.of(row) if row else None
        if record is None or record.state(at) != "valid":
            return None
        if (record.used_at or 0) <= at - USED_MS:
            async with self._database.transaction() as transaction:
                await transaction.execute(
                    "UPDATE api_tokens SET used_at = :at WHERE id = :id", at=at, id=record.id
                )
        return record

    async def password(self) -> str | None:
        """Return the hash of the user's password; None: there is none yet."""
        async with self._database.transaction(write=False) as transaction:
            row = await transaction.fetch_one(
                "SELECT password FROM api_users WHERE name = :name", name=USER
            )
        return str(row["password"]) if row else None

    async def set_first_password(self, hashed: str, publish: Callable[[], None]) -> bool:
        """Set the password unless there is one; return whether it was set.

        ``publish`` stores the password where the operator finds it, before it is in force. Of
        processes that start together, one does it.
        """
        at = self._clock()
        async with self._database.transaction() as transaction:
            await transaction.lock(LOCK)
            if await transaction.fetch("SELECT name FROM api_users"):
                return False
            publish()
            await _put_password(transaction, hashed, at)
        return True

    async def set_password(self, hashed: str, actor: str, *, keep: str = "") -> None:
        """Set the password, and end all links, and all logins but ``keep``."""
        at = self._clock()
        async with self._database.transaction() as transaction:
            await transaction.lock(LOCK)
            await transaction.execute("DELETE FROM api_users WHERE name = :name", name=USER)
            await _put_password(transaction, hashed, at)
            await transaction.execute(
                "DELETE FROM api_tokens WHERE kind IN ('session', 'link') AND id <> :keep",
                keep=keep,
            )
            await AuditTable(transaction).add(at, actor, "password set", f"api-user:{USER}")


async def _put_password(transaction: Transaction, hashed: str, at: int) -> None:
    await transaction.execute(
        "INSERT INTO api_users (name, password, changed_at) VALUES (:name, :password, :at)",
        name=USER,
        password=hashed,
        at=at,
    )


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text[:MAX_USER_AGENT])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
