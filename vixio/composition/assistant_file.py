"""The file of the settings that are changed in the browser, and the version before it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from vixio.data.database.paths import make_private_folder
from vixio.web.api.assistant_settings import NotNow

LOCK_S: Final = 30.0
"""For which a change waits for one by another process."""

_RETRY_S: Final = 0.05


class AssistantFile:
    """Blocking, but for the lock. Raises NotNow where the folder cannot be written to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.before = path.with_name(f"{path.name}.before")

    @property
    def changed_at(self) -> int | None:
        """When it was written, in milliseconds since 1970; None: there is none."""
        try:
            return self.path.stat().st_mtime_ns // 1_000_000
        except OSError:
            return None

    def read(self) -> dict[str, Any]:
        """Return the content, with variables by their names; empty if it cannot be read."""
        import yaml  # a server without a settings file does not need it

        try:
            found = yaml.safe_load(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError):
            return {}
        return {str(key): value for key, value in found.items()} if isinstance(found, dict) else {}

    def draft(self, content: Mapping[str, Any]) -> Path:
        """Write a file with ``content`` that only its owner can read, to be kept or removed."""
        import yaml

        text = yaml.safe_dump(dict(content), allow_unicode=True, sort_keys=False, width=100)
        with _writing(self.path):
            make_private_folder(self.path.parent)
            handle, name = tempfile.mkstemp(prefix=f"{self.path.name}.", dir=self.path.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:  # mode 0600
                file.write("# Written by the console; the settings file wins over it.\n" + text)
                file.flush()
                os.fsync(file.fileno())
        return Path(name)

    def keep(self, draft: Path) -> None:
        """Put a draft in the place of the file, which is kept for :meth:`back`."""
        with _writing(self.path):
            former = self.draft({})
            if self.path.exists():
                shutil.copyfile(self.path, former)
            former.replace(self.before)
            draft.replace(self.path)

    def back(self) -> None:
        """Put the version before in the place of the file."""
        with _writing(self.path):
            self.before.replace(self.path)
            os.utime(self.path)

    @asynccontextmanager
    async def locked(self, name: str, wait_s: float = LOCK_S) -> AsyncIterator[None]:
        """Keep other processes from doing the same. Raises NotNow if one does for too long."""
        with _writing(self.path):
            make_private_folder(self.path.parent)
            handle = os.open(
                self.path.with_name(f"{self.path.name}.{name}"), os.O_RDWR | os.O_CREAT, 0o600
            )
        try:
            until = asyncio.get_running_loop().time() + wait_s
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if asyncio.get_running_loop().time() >= until:
                        raise NotNow("another one is under way: wait until it is done") from None
                    await asyncio.sleep(_RETRY_S)
            yield
        finally:
            os.close(handle)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotNow(f"{error.filename or path}: {error.strerror}") from None
