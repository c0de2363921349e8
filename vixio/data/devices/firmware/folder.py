"""The images of a server: ``FOLDER/BOARD/VERSION/xiaozhi.bin``.

There is no other file beside an image: what it is for stands in it, so an image that was copied
there by hand is as good as an added one. Names are checked before they become a path, and no
symbolic link below the folder is followed.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Final

from vixio.data.devices.firmware.errors import FirmwareError, NoFirmware
from vixio.data.devices.firmware.image import (
    MAX_BYTES,
    PIECE_BYTES,
    FirmwareImage,
    read_image_file,
)
from vixio.data.devices.firmware.versions import is_version, numbers

IMAGE_NAME: Final = "xiaozhi.bin"

_BOARD: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)

_OWNER_ONLY: Final = 0o700


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image in its place. ``fault``: why it cannot be offered, of one copied there by hand."""

    board: str
    version: str
    path: Path
    image: FirmwareImage | None
    fault: str = ""


def is_board(name: str) -> bool:
    """Whether ``name`` can be a board's: letters, digits, dots, dashes and underscores."""
    return _BOARD.fullmatch(name) is not None


class FirmwareFolder:
    """A folder of images. Its methods may be called in any process at any time.

    ``root`` need not be there. Every method raises FirmwareError, one line.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    async def add(self, file: Path, board: str = "") -> StoredImage:
        """Read an image and copy it to its place, in a thread.

        ``board``: checked against the board that the image was built for; empty: that one. An image
        that is there already with the same bytes is returned; one with others is not replaced.
        """
        return await asyncio.to_thread(self._add, file, board)

    async def check(self, file: Path, board: str = "") -> FirmwareImage:
        """Read a file as :meth:`add` does, and keep nothing."""
        return await asyncio.to_thread(_checked, file, file, board)

    async def all(self) -> list[StoredImage]:
        """Return the images by board and version, the newest last. Reads each of them whole."""
        return await asyncio.to_thread(lambda: [self._stored(*place) for place in self._places()])

    async def get(self, board: str, version: str) -> StoredImage:
        """Return one image, checked. Raises FirmwareError if it is not there or has a fault."""
        return await asyncio.to_thread(self._get, board, version)

    async def remove(self, board: str, version: str) -> None:
        """Delete an image. A download of it that has begun goes on."""
        await asyncio.to_thread(self._remove, board, version)

    def has(self, board: str, version: str) -> bool:
        """Whether an image is there, unread. Blocks for a moment."""
        return is_board(board) and is_version(version) and self._path(board, version).is_file()

    def open(self, board: str, version: str) -> BufferedReader:
        """Open an image to read it. Blocks for a moment."""
        path = self._path(board, version)
        self._refuse_links(path)
        try:
            # O_NONBLOCK: a pipe in this place does not wait for its writer.
            more = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | more))  # noqa: SIM115  Path.open has no opener; the caller closes it
        except FileNotFoundError:
            raise self._missing(board, version) from None
        except OSError as error:
            raise _failed("read", path, error) from None
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise FirmwareError(f"{path} is no file")
        return file

    def _add(self, file: Path, board: str) -> StoredImage:
        with self._incoming() as folder:
            copy = folder / IMAGE_NAME
            _copy(file, copy)
            image = _checked(copy, file, board)
            board = _board_of(image, board)
            place = self._path(board, image.version).parent
            stored = StoredImage(board, image.version, place / IMAGE_NAME, image)
            self._make(place.parent)
            try:
                folder.rename(place)  # fails if there is a folder with anything in it
            except OSError as error:
                if self._stored(board, image.version) == stored:
                    return stored
                if place.exists():
                    raise FirmwareError(
                        f"{image.version} of {board} is there already with other content: give "
                        "the new build a higher version, or remove the old one first"
                    ) from None
                raise _failed("write", place, error) from None
            _sync(place.parent)
        return stored

    @contextmanager
    def _incoming(self) -> Iterator[Path]:
        """Make a folder on the same disk, and delete it if it is still there afterwards."""
        self._make(self.root)
        try:
            folder = Path(tempfile.mkdtemp(prefix=".incoming-", dir=self.root))
        except OSError as error:
            raise _failed("write", self.root, error) from None
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _make(self, folder: Path) -> None:
        """Make a folder below the root, or the root itself."""
        try:
            folder.mkdir(mode=_OWNER_ONLY, parents=folder == self.root, exist_ok=True)
        except OSError as error:
            raise _failed("write", folder, error) from None
        self._refuse_links(folder)

    def _get(self, board: str, version: str) -> StoredImage:
        self.open(board, version).close()  # says whether it is there at all
        stored = self._stored(board, version)
        if stored.image is None:
            raise FirmwareError(f"{stored.path}: {stored.fault}")
        return stored

    def _stored(self, board: str, version: str) -> StoredImage:
        path = self._path(board, version)
        try:
            self._refuse_links(path)
            image = read_image_file(path)
            _board_of(image, board)
            if image.version != version:
                raise FirmwareError(f"it is version {image.version}")
        except FirmwareError as error:
            return StoredImage(board, version, path, None, str(error))
        return StoredImage(board, version, path, image)

    def _remove(self, board: str, version: str) -> None:
        path = self._path(board, version)
        self._refuse_links(path)
        try:
            path.unlink()
        except FileNotFoundError:
            raise self._missing(board, version) from None
        except OSError as error:
            raise _failed("remove", path, error) from None
        for folder in (path.parent, path.parent.parent):
            with suppress(OSError):  # not empty: another version, or something of the user's
                folder.rmdir()

    def _places(self) -> Iterator[tuple[str, str]]:
        for board in sorted(_folders(self.root)):
            if is_board(board):
                versions = filter(is_version, _folders(self.root / board))
                for version in sorted(versions, key=numbers):
                    if (self.root / board / version / IMAGE_NAME).is_file():
                        yield board, version

    def _path(self, board: str, version: str) -> Path:
        if not is_board(board) or not is_version(version):
            raise self._missing(board, version)
        return self.root / board / version / IMAGE_NAME

    def _refuse_links(self, path: Path) -> None:
        while path != self.root:
            if path.is_symlink():
                raise FirmwareError(f"{path} is a symbolic link, which is not followed")
            path = path.parent

    def _missing(self, board: str, version: str) -> FirmwareError:
        return NoFirmware(f"there is no firmware {version!r} of {board!r} in {self.root}")


def _checked(file: Path, named: Path, board: str) -> FirmwareImage:
    """Return the image in a file, which messages call ``named``."""
    if board and not is_board(board):
        raise FirmwareError(f"{board!r} cannot be the name of a board")
    try:
        image = read_image_file(file)
        _board_of(image, board)
    except FirmwareError as error:
        raise FirmwareError(f"{named}: {error}") from None
    return image


def _board_of(image: FirmwareImage, board: str) -> str:
    """Return the board of an image. Raises FirmwareError if ``board`` is given and another one."""
    if not image.boards:
        raise FirmwareError("it names no board: it is no firmware of a xiaozhi device")
    if board:
        if board not in image.boards:
            raise FirmwareError(f"it is for the board {' or '.join(image.boards)}, not {board}")
        return board
    if len(image.boards) > 1:
        raise FirmwareError(f"it may be for the board {' or '.join(image.boards)}: say --board")
    return image.boards[0]


def _copy(file: Path, copy: Path) -> None:
    """Copy a file of bounded size, on the disk when this returns."""
    try:
        with (
            file.open("rb") as source,
            open(copy, "xb", opener=partial(os.open, mode=0o600)) as target,
        ):
            while piece := source.read(PIECE_BYTES):
                target.write(piece)
                if target.tell() > MAX_BYTES:
                    raise FirmwareError(
                        f"{file}: it has more than {MAX_BYTES} bytes, more than any device can take"
                    )
            target.flush()
            os.fsync(target.fileno())
    except OSError as error:
        raise _failed("copy", file, error) from None


def _folders(folder: Path) -> list[str]:
    """Return the names of the folders in a folder; none if it is not there."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _failed("read", folder, error) from None


def _sync(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system can do it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _failed(what: str, path: Path, error: OSError) -> FirmwareError:
    return FirmwareError(f"cannot {what} {path}: {error.strerror or error}")
