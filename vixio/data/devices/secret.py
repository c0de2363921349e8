"""The secret that signs tokens: made at the first start, in the data folder."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from vixio.core.errors import ConfigError
from vixio.data.database.paths import make_private_folder

FILE_NAME: Final = "token_secret"

MAX_BYTES: Final = 4_096


def load_secret(folder: Path) -> str:
    """Return the secret of the data folder; one is made if there is none. Blocking.

    Only its owner may read the file. Processes that start together agree on one: the first link
    wins. Raises ConfigError, one line, where it cannot be read or written.
    """
    path = folder / FILE_NAME
    try:
        if (known := _read(path)) is not None:
            return known
        make_private_folder(folder)
        descriptor, made = tempfile.mkstemp(prefix=f"{FILE_NAME}.", dir=folder)  # mode 0600
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # another process was faster
                os.link(made, path)
        finally:
            Path(made).unlink()
        found = _read(path)
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}; set data.folder to a place that can be written to, or "
            "server.auth.secret"
        ) from None
    if found is None:
        raise ConfigError(f"{path}: it was removed while it was read; start again")
    return found


def _read(path: Path) -> str | None:
    """Return the secret; None if there is no file. Raises OSError, ConfigError."""
    try:
        with path.open("rb") as file:
            mode, content = os.fstat(file.fileno()).st_mode, file.read(MAX_BYTES)
    except FileNotFoundError:
        return None
    if mode & 0o077:
        raise ConfigError(f"{path}: other users may read it; chmod 600 {path}")
    secret = content.decode("utf-8", "replace").strip()
    if len(secret) < 32:
        raise ConfigError(f"{path}: too short for a secret; remove it, and a new one is made")
    return secret
