"""Fetches what is missing of a model from the hubs, one source after another."""

from __future__ import annotations

import asyncio
from pathlib import Path, PurePosixPath

from vixio.providers.downloads.catalogue import ModelFile, Part, Source
from vixio.providers.downloads.digests import digest_of
from vixio.providers.downloads.errors import ModelError, Trouble, disk_error
from vixio.providers.downloads.hubs import Hubs, Mirror, Remote
from vixio.providers.downloads.staging import Staging, checked_by, expected_of, make_parent
from vixio.providers.downloads.transfer import Expected, download
from vixio.providers.downloads.web import Web


class Fetch:
    """The fetching of one model. A host that was not reached once is not tried again."""

    def __init__(self, staging: Staging, web: Web, hubs: Hubs) -> None:
        self._staging = staging
        self._web = web
        self._hubs = hubs
        self._unreachable: set[Mirror] = set()

    async def part(self, part: Part) -> None:
        """Fetch what is missing of a part. Raises ModelError when no source works."""
        staging = self._staging
        if all(file.name in staging.ready for file in part.files):
            return
        troubles: list[str] = []
        for source, mirror in self._hubs.of(part.sources):
            if mirror in self._unreachable:
                continue
            staging.say("asking", mirror.label)
            try:
                if source.archive is None:
                    await self._files(part, source, mirror)
                else:
                    await self._archive(part, source, mirror, source.archive)
            except Trouble as trouble:
                if trouble.unreachable:
                    self._unreachable.add(mirror)
                troubles.append(f"{mirror.label}: {trouble}")
                staging.say("trouble", troubles[-1])
                continue
            except OSError as error:
                raise disk_error(error, staging.folder) from error
            staging.origin = staging.origin or mirror.label
            return
        reasons = "; ".join(troubles) or "none of its hubs is reached"
        raise ModelError(
            f"{staging.model.name}: no source works ({reasons}). What has arrived is kept. To use "
            "another mirror: --mirror; a proxy: HTTPS_PROXY; files that another machine fetched: "
            "--from FOLDER"
        )

    async def _files(self, part: Part, source: Source, mirror: Mirror) -> None:
        paths = {file: source.path_of(file) for file in part.files}
        stated: dict[str, Remote] = {}
        if any(file.sha256 is None for file in part.files):
            stated = await self._hubs.remotes(self._web, source, mirror, paths.values())
        remotes = {
            file: stated.get(path) or self._remote(source, mirror, path)
            for file, path in paths.items()
        }
        expected = {file: expected_of(file, remote) for file, remote in remotes.items()}
        missing = [f for f in part.files if not await self._is_ready(f, expected[f])]
        sizes = {file: expected[file].size or file.expected for file in part.files}
        await self._staging.check_room(sum(sizes[file] for file in missing))
        before, total = self._bytes(part, sum(sizes.values()))
        before += sum(size for file, size in sizes.items() if file not in missing)
        for file in missing:
            path = self._staging.place(file.name)
            await asyncio.to_thread(make_parent, path)

            def on_bytes(done: int, at: int = before) -> None:
                self._staging.say("downloading", mirror.label, at + done, total)

            digest = await download(self._web, remotes[file], path, expected[file], on_bytes)
            await self._staging.add(file.name, digest, checked_by(file, expected[file]))
            before += digest.size

    async def _archive(self, part: Part, source: Source, mirror: Mirror, archive: str) -> None:
        remote = self._remote(source, mirror, archive)
        if source.sha256 is None and any(file.sha256 is None for file in part.files):
            remote = (await self._hubs.remotes(self._web, source, mirror, [archive]))[archive]
        expected = expected_of(source, remote)
        size = expected.size or source.expected
        before, total = self._bytes(part, size)
        path = self._staging.folder / PurePosixPath(archive).name

        def on_bytes(done: int) -> None:
            self._staging.say("downloading", mirror.label, before + done, total)

        if not await _is_there(path, expected):
            await self._staging.check_room(size + sum(file.expected for file in part.files))
            await download(self._web, remote, path, expected, on_bytes)
        await self._staging.unpack(part, source, path, checked_by(source, expected))
        await asyncio.to_thread(path.unlink)

    def _remote(self, source: Source, mirror: Mirror, path: str) -> Remote:
        url = self._hubs.url(source, mirror, path)
        return Remote(url, access=self._hubs.access(mirror))

    async def _is_ready(self, file: ModelFile, expected: Expected) -> bool:
        """Whether a file is verified, and of the version of this source.

        An earlier source may have given it; without a pinned digest, it may have another version.
        """
        if file.name not in self._staging.ready:
            return False
        if file.sha256 is not None:
            return True
        return expected.mistake(await digest_of(self._staging.place(file.name))) is None

    def _bytes(self, part: Part, size: int) -> tuple[int, int]:
        """Return the bytes of the parts before this one, which has ``size``, and of all."""
        parts = self._staging.model.parts
        sizes = [sum(file.expected for file in each.files) for each in parts]
        at = parts.index(part)
        return sum(sizes[:at]), sum(sizes[:at]) + size + sum(sizes[at + 1 :])


async def _is_there(path: Path, expected: Expected) -> bool:
    """Whether an archive of an earlier try is whole."""
    if expected.sha256 is None or not await asyncio.to_thread(path.is_file):
        return False
    return expected.mistake(await digest_of(path)) is None
