"""Radio from a stand-in, through a real server to the simulated device."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.test_media import bench
from tests.support.radio_server import RadioServer
from tests.support.waiting import until


async def test_radio_begins_soon_and_shows_its_titles(tmp_path: Path) -> None:
    async with RadioServer() as radio:
        stations = {"Radio Nina": f"{radio.url}/live"}
        async with bench(tmp_path, stations=stations) as held:
            assert radio.asked == [], "nothing is asked for before it is wanted"
            told = await held.asked("play_media", query="radio nina")
            music = await held.music(1, 1.0)
            assert music.first_audio is not None
            assert told.playout_end is not None
            assert music.first_audio - told.playout_end < 10, "the machine may be busy"
            screen = held.device.screen
            await until(
                lambda: screen[-1] == "Radio Nina: Nina - Two", what="the title", seconds=60
            )
            assert "Radio Nina: Nina - One" in screen
            await held.asked("what_is_playing")
            assert "Nina - Two" in held.results()[-1]
            await until(lambda: radio.count("/live") == 2, what="its present", seconds=60)
            await held.asked("pause_media")


async def test_why_a_station_is_not_heard_is_said(tmp_path: Path) -> None:
    async with RadioServer() as radio:
        stations = {"Silent One": f"{radio.url}/stalls", "Old One": f"{radio.url}/gone"}
        async with bench(tmp_path, stations=stations, stall=0.2) as held:
            await held.asked("play_media", query="silent one", kind="radio")
            reply = await held.device.wait_for_reply(after=1, timeout=60)
            assert reply.text == "The stream has stopped coming, so I stopped it."
            count = len(held.device.replies)
            await held.asked("play_media", query="old one", kind="radio")
            reply = await held.device.wait_for_reply(after=count + 1, timeout=60)
            assert reply.text == "What was to be played is no longer there."
            assert held.server.count("turn.defect") == 0


async def test_the_address_of_a_tool_is_not_inside_the_network(tmp_path: Path) -> None:
    async with RadioServer() as radio, bench(tmp_path) as held:
        await held.asked("play_link", address=f"{radio.url}/plain")
        reply = await held.device.wait_for_reply(after=1, timeout=60)
        assert reply.text == "I must not play from that address."
        assert radio.asked == []
