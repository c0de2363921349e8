"""The first login: a password made at the first start, in a file that only its owner may read."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeVar

from vixio.data.database.database import Database
from vixio.data.database.paths import make_private_folder
from vixio.data.devices.records import RegistryError
from vixio.web.api.keys import Keys
from vixio.web.api.passwords import hash_password, new_password

T = TypeVar("T")

FILE_NAME: Final = "api_password"
"""In the data folder, until another password is set."""


class Use(Protocol):
    """Does something on the database; :meth:`~vixio.data.devices.registry.DeviceRegistry.use`."""

    async def __call__(self, work: Callable[[Database], Awaitable[T]]) -> T: ...


async def make_first_login(use: Use, folder: Path) -> bool:
    """Set a random password and write it to a file, unless there is one; return whether it was.

    Raises RegistryError if the file cannot be written, there is no login then; what ``use`` raises.
    """
    if await use(lambda database: Keys(database).password()) is not None:
        return False
    password = new_password()
    # Takes seconds on a slow machine: not while the registry waits.
    hashed = await hash_password(password)
    publish = partial(_publish, folder, password)
    return await use(lambda database: Keys(database).set_first_password(hashed, publish))


def forget_first_password(folder: Path) -> None:
    """Remove the file: another password is in force. Raises OSError."""
    (folder / FILE_NAME).unlink(missing_ok=True)


def _publish(folder: Path, password: str) -> None:
    path = folder / FILE_NAME
    try:
        make_private_folder(folder)
        path.unlink(missing_ok=True)  # of a start that was killed before the password was in force
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{password}\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise RegistryError(
            f"{path}: {error.strerror}; set a password with `vixio api-password`"
        ) from None
