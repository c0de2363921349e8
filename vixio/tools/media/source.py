"""The source type ``media``: tools that find and play."""

from __future__ import annotations

import asyncio
import binascii
import logging
import random
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from vixio.core.errors import ConfigError, SoundFailed, ToolError
from vixio.core.messages import message
from vixio.core.streams import closing
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.context import ToolContext
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.source import Fault, ToolSource
from vixio.core.tools.types import JsonObject, SoundPart, ToolDefinition, ToolOptions
from vixio.tools.media import decoding
from vixio.tools.media.finding import MAX_QUEUE, Index, Wanted
from vixio.tools.media.library import MAX_FEED_BYTES, Item, Scanner, episodes
from vixio.tools.media.player import Player
from vixio.tools.media.settings import MediaSettings
from vixio.tools.media.stream import Stream, fetched
from vixio.tools.registry import SourceContext, ToolSourceFactory

_log = logging.getLogger(__name__)

THREADS: Final = 4
"""Of the process, for all that play: 50 devices decode for 0.02 s in a second, all together."""

MAX_PLAYERS: Final = 1_000
"""Devices whose place in what they played is remembered."""

MAX_HELD: Final = 64_000_000
"""Bytes of audio from tools that are kept for all players."""

_MAX_LISTED: Final = 20


class MediaSource(ToolSource):
    """The library of a server, and a player for each device that plays."""

    def __init__(self, name: str, settings: MediaSettings, *, trusted: bool = True) -> None:
        super().__init__(name)
        self._settings = settings
        self._threads = ThreadPoolExecutor(THREADS, "media")
        self._scanner = Scanner(settings, trusted=trusted)
        self._index = Index(())
        self._players: OrderedDict[str, Player] = OrderedDict()
        self._scanned = asyncio.Event()
        self._scanning: asyncio.Task[None] | None = None
        self._tools = self._described()
        self._started = False

    async def start(self) -> None:
        """Load the libraries, and begin to read the folders. Raises ConfigError. Idempotent."""
        if self._started:
            return
        self._started = True
        try:
            await self._in_thread(decoding.load)
        except ConfigError as error:
            self.faults = [Fault(self.name, str(error))]
            self._tools = []
            raise
        self._scanning = asyncio.create_task(self._scan())

    async def ready(self) -> None:
        """Wait until the folders have been read once."""
        await self._scanned.wait()

    @property
    def pending(self) -> bool:
        """Whether they have not."""
        return not self._scanned.is_set() and self._scanning is not None

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the tools."""
        return self._tools

    async def look(self) -> str:
        """Return how much there is."""
        kinds = [item.kind for item in self._index.items]
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))

    async def reach(self) -> None:
        """Read the beginning of each station, and each podcast. Raises ToolError."""
        for item in self._index.items:
            if item.kind not in ("radio", "podcast") or item.groups:  # of a playlist
                continue
            group = "stations" if item.kind == "radio" else "podcasts"
            try:
                if item.kind == "podcast":
                    await self._episodes(item)
                else:
                    async with closing(self._stream(item, live=True).connection()) as pieces:
                        await anext(pieces)
            except (SoundFailed, StopAsyncIteration, ToolError) as error:
                why = str(error) or "nothing came"
                raise ToolError("failed", f"{group}: {item.title}: {why}") from None

    async def close(self) -> None:
        """End what plays. Idempotent."""
        for player in self._players.values():
            player.stop()
        self._scanner.stopped = True
        if self._scanning is not None:
            await cancel_and_wait(self._scanning)
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)

    async def _scan(self) -> None:
        while True:
            with suppress(RuntimeError):  # the threads are shut down
                items = await self._in_thread(self._scanner.scan)
                if list(self._index.items) != items:
                    self._index = await self._in_thread(Index, items)
                problem = self._scanner.problem
                self.faults = [Fault(self.name, problem)] if problem else []
            self._scanned.set()
            await asyncio.sleep(self._settings.rescan)

    async def _in_thread(self, function: Any, *arguments: Any) -> Any:  # noqa: ANN401 - any result
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def _player(self, context: ToolContext) -> Player:
        player = self._players.setdefault(context.device_id, Player(self._settings, self._threads))
        self._players.move_to_end(context.device_id)
        while len(self._players) > MAX_PLAYERS:
            self._players.popitem(last=False)[1].stop()
        return player

    # ── the tools ────────────────────────────────────────────────────────────────────────────

    async def play_media(
        self, context: ToolContext, query: str = "", kind: Wanted = "any", shuffle: bool = False
    ) -> JsonObject:
        """Play music, a story, a podcast or a radio station. It begins behind your next words.

        Args:
            query: What the user named, as heard: a title, artist, album, genre, playlist, station,
                or whom a story is for. Empty for anything of the kind.
            kind: What it is, if the user said so.
            shuffle: In any order.
        """
        speaker = context.speaker()
        await self._scanned.wait()
        found = await self._in_thread(self._index.search, query, kind)
        if not found:
            return {"found": [], "spoken": message("media_nothing_found", context.language)}
        if found[0].kind == "podcast":
            found = await self._episodes(found[0])
        elif found[0].kind == "radio":
            found = found[:1]
        elif shuffle or not query.strip():
            random.shuffle(found)
        items = found[:1] if found[0].kind == "story" and not query.strip() else found[:MAX_QUEUE]
        self._player(context).play(items, speaker)
        return self._told(context, items[0], len(items))

    async def play_link(self, address: str, context: ToolContext, title: str = "") -> JsonObject:
        """Play audio from a web address that another tool has returned, or that the user gave.

        Args:
            address: Begins with https:// or http://.
            title: To be shown.
        """
        if not address.startswith(("http://", "https://")) or len(address) > 2_000:
            raise ToolError("invalid_arguments", "expected an address with http:// or https://")
        item = Item(
            " ".join(title.split())[:100] or address[:100], address, "podcast", trusted=False
        )
        self._player(context).play([item], context.speaker())
        return self._told(context, item, 1)

    async def _play_sounds(self, sounds: Sequence[SoundPart], context: ToolContext) -> str:
        """Play what another tool returned; see :data:`~vixio.core.tools.types.PlaySounds`."""
        speaker, items = context.speaker(), list[Item]()
        for each in sounds:
            try:
                data = await self._in_thread(b64decode, each.data)
            except (binascii.Error, ValueError):
                raise ToolError("failed", "it is not written in base64") from None
            if not data and not each.address:
                raise ToolError("failed", "it is empty")
            title = " ".join(each.title.split())[:100]
            items.append(Item(title, each.address, "podcast", trusted=False, data=data))
        player = self._player(context)
        player.stop()
        player.queue(items)
        for other in self._players.values():  # of those that are idle, the oldest give way
            if sum(one.held for one in self._players.values()) <= MAX_HELD:
                break
            if not other.plays and other is not player and other.held:
                other.queue(())
        else:
            player.queue(())
            raise ToolError("failed", "the server keeps too much audio of tools; try it later")
        player.play(items, speaker)
        return "the audio is played behind your next words: do not repeat what it says"

    async def find_media(
        self, context: ToolContext, query: str, kind: Wanted = "any"
    ) -> JsonObject:
        """List what there is to play by a name.

        Args:
            query: A title, artist, album, genre, playlist or station.
            kind: What it is, if the user said so.
        """
        await self._scanned.wait()
        found = await self._in_thread(self._index.search, query, kind)
        listed = [_data(each) for each in found[:_MAX_LISTED]]
        return {"found": listed, "count": len(found)}

    async def pause_media(self, context: ToolContext) -> JsonObject:
        """Pause or stop what is played. It can go on later."""
        player = self._player(context)
        key = "media_stopped" if player.plays else "media_nothing_plays"
        player.stop()
        return {"spoken": message(key, context.language)}

    async def resume_media(self, context: ToolContext) -> JsonObject:
        """Go on with what was paused, where it was."""
        player = self._player(context)
        if not player.go_on(context.speaker()) or player.item is None:
            return {"spoken": message("media_nothing_plays", context.language)}
        return self._told(context, player.item, 1)

    async def next_media(self, context: ToolContext) -> JsonObject:
        """Go to the next piece."""
        return self._step(context, 1)

    async def previous_media(self, context: ToolContext) -> JsonObject:
        """Go back to the beginning of the piece, or to the one before."""
        return self._step(context, -1)

    async def what_is_playing(self, context: ToolContext) -> JsonObject:
        """Get what is played now, or was played last."""
        player = self._player(context)
        item = player.item
        if item is None or not player.plays:
            return {"playing": False, "spoken": message("media_nothing_plays", context.language)}
        spoken = message("media_this_is", context.language, title=player.title)
        told = {"playing": True, "title_shown": player.title, "seconds": round(player.seconds)}
        return {**_data(item), **told, "spoken": spoken}

    def _step(self, context: ToolContext, by: int) -> JsonObject:
        player = self._player(context)
        if not player.step(by, context.speaker()) or player.item is None:
            return {"spoken": message("media_no_other", context.language)}
        return self._told(context, player.item, 1)

    def _told(self, context: ToolContext, item: Item, count: int) -> JsonObject:
        spoken = message("media_plays", context.language, title=item.shown)
        return {"plays": _data(item), "pieces": count, "spoken": spoken}

    async def _episodes(self, podcast: Item) -> list[Item]:
        try:
            feed = await fetched(self._stream(podcast, live=False), MAX_FEED_BYTES)
            found: list[Item] = await self._in_thread(episodes, feed, podcast)
        except SoundFailed as error:
            raise ToolError("failed", f"the podcast cannot be reached: {error}") from None
        return found

    def _stream(self, item: Item, *, live: bool) -> Stream:
        settings = self._settings
        return Stream(
            item.place,
            live=live,
            trusted=item.trusted,
            private=settings.allow_private,
            stall=settings.stall,
        )

    def _described(self) -> list[ToolDefinition]:
        reads = ToolOptions(timeout=10.0, idempotent=True, read_only=True)
        acts = ToolOptions(timeout=30.0)
        described: list[tuple[Any, ToolOptions]] = [
            (self.play_media, acts),
            (self.find_media, reads),
            (self.pause_media, acts),
            (self.resume_media, acts),
            (self.next_media, acts),
            (self.previous_media, acts),
            (self.what_is_playing, reads),
        ]
        if self._settings.links:
            described.append((self.play_link, acts))
        tools = [func_to_tool_definition(each, self.name, options) for each, options in described]
        tools = [replace(tool, parameters={"required": [], **tool.parameters}) for tool in tools]
        if self._settings.links:
            tools[-1] = replace(tools[-1], plays=self._play_sounds)
        return tools


def _data(item: Item) -> JsonObject:
    data = {"title": item.title, "kind": item.kind, "artist": item.artist, "album": item.album}
    return {name: value for name, value in data.items() if value}


def _create(settings: MediaSettings, context: SourceContext) -> MediaSource:
    return MediaSource(context.name, settings, trusted=context.trusted)


FACTORY = ToolSourceFactory(settings_model=MediaSettings, create=_create)
