"""Hashes of passwords: scrypt of the standard library (RFC 7914), in threads."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from typing import Final

from vixio.data.devices.records import RegistryError

N: Final = 2**15
R: Final = 8
P: Final = 3
"""One of the settings of OWASP's Password Storage Cheat Sheet: 32 MB and a quarter of a second."""

MAX_MEMORY: Final = 64 * 1024 * 1024

MIN_CHARS: Final = 10
MAX_CHARS: Final = 256

_NOBODYS: Final = f"scrypt${N}${R}${P}${'00' * 16}${'00' * 32}"
"""Compared with where there is no password, so that it takes as long."""


def new_password() -> str:
    """Return a random password of 100 bits, easy to type."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"  # without those that look alike
    return "-".join("".join(secrets.choice(letters) for _ in range(5)) for _ in range(4))


async def hash_password(password: str) -> str:
    """Return what is stored of a password. Raises RegistryError for an unsuitable one."""
    if not MIN_CHARS <= len(password) <= MAX_CHARS or not password.isprintable():
        raise RegistryError(
            f"a password has from {MIN_CHARS} to {MAX_CHARS} characters, none a control character"
        )
    return await asyncio.to_thread(_hash, password, secrets.token_bytes(16), N, R, P)


async def is_password(password: str, stored: str | None) -> bool:
    """Whether a password is the one that was hashed; None: there is none. In constant time."""
    kind, n, r, p, salt, _ = (stored or _NOBODYS).split("$")
    if kind != "scrypt" or len(password) > MAX_CHARS:
        return False
    made = await asyncio.to_thread(_hash, password, bytes.fromhex(salt), int(n), int(r), int(p))
    return hmac.compare_digest(made, stored or _NOBODYS) and stored is not None


def _hash(password: str, salt: bytes, n: int, r: int, p: int) -> str:
    made = hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=MAX_MEMORY, dklen=32)
    return f"scrypt${n}${r}${p}${salt.hex()}${made.hex()}"
