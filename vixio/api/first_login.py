"""The first login: a password made at the first start, in a file that only its owner may read."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Final

from vixio.api.keys import Keys
from vixio.api.passwords import hash_password, new_password
from vixio.database.database import Database
from vixio.database.paths import make_private_folder
from vixio.devices.records import RegistryError

FILE_NAME: Final = "api_password"
"""In the data folder, until another password is set."""


async def make_first_login(database: Database, folder: Path) -> bool:
    """Set a random password and write it to a file, unless there is one; return whether it was.

    Raises RegistryError if the file cannot be written; there is no login then.
    """
    keys = Keys(database)
    if await keys.password() is not None:
        return False
    password = new_password()
    hashed = await hash_password(password)
    return await keys.set_first_password(hashed, partial(_publish, folder, password))


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
