"""What can go wrong with a model.

ModelError (a VixioError)   one line for people: the command ends
Trouble                     a source failed; the next one may work
"""

from __future__ import annotations

import errno

from vixio.core.errors import VixioError


class ModelError(VixioError):
    """A model cannot be fetched, checked or removed: one line that says why and what to do."""


class Trouble(Exception):
    """A source of a model failed.

    ``again``: trying it again may help, ``after`` seconds. ``unreachable``: so is all of its host.
    """

    def __init__(
        self,
        message: str,
        *,
        again: bool = False,
        after: float | None = None,
        unreachable: bool = False,
    ) -> None:
        super().__init__(message)
        self.again = again
        self.after = after
        self.unreachable = unreachable


_FULL = {errno.ENOSPC, errno.EDQUOT}


def disk_error(error: OSError, path: object) -> ModelError:
    """Return the error of a disk that does not take a file."""
    if error.errno in _FULL:
        return ModelError(
            f"the disk of {path} is full; free some space and run the command again: it goes on "
            "where it stopped"
        )
    return ModelError(f"cannot write {error.filename or path}: {error.strerror or error}")
