"""The page Talk in a real browser, against a real server: the words go through the whole way."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, ClassVar

import pytest
import pytest_asyncio

from tests.console.house import NAME, ConsoleHouse
from tests.console.talking import VOLUME, TalkPage, write_speech
from tests.console.visit import launched, visiting
from tests.support.waiting import until

if TYPE_CHECKING:
    from playwright.async_api import Playwright

pytestmark = pytest.mark.slow

LONG = "what can you do"
ASLEEP = "Asleep. Press the button to begin."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def open_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ConsoleHouse]:
    """A server that lets every device in."""
    new = ConsoleHouse(tmp_path_factory.mktemp("house"), access="open")
    async with new.serving():
        yield new


@asynccontextmanager
async def talking(
    playwright: Playwright,
    house: ConsoleHouse,
    microphone: Path | None = None,
    *,
    query: str = "",
    allow: bool = True,
    host: str = "127.0.0.1",
) -> AsyncIterator[TalkPage]:
    """Open the page in a browser with this microphone, or without one."""
    async with (
        launched(playwright, microphone, allow=allow) as browser,
        visiting(browser, house, tap=False, host=host) as visit,
    ):
        yield await TalkPage.open(visit, query)


@pytest.mark.parametrize("codec", ["opus", "pcm"])
async def test_spoken_words_are_answered_and_a_tool_is_called(
    playwright: Playwright, open_house: ConsoleHouse, tmp_path: Path, codec: str
) -> None:
    speech = await write_speech(tmp_path / "volume.wav", VOLUME, times=4)
    query = "?codec=pcm" if codec == "pcm" else ""
    async with talking(playwright, open_house, speech, query=query) as talk:
        await talk.press("Start talking")
        await talk.until_heard(VOLUME, seconds=150)
        await talk.until_said("The volume is now 30 percent.")
        await talk.until_state("Listening")  # again, once all was played

        assert talk.sent[0]["audio_params"]["format"] == codec
        assert all(len(packet) == 1920 for packet in talk.packets) == (codec == "pcm")
        # The microphone says it again 12 s later, which a slow page hears; each time is one call.
        calls, heard = talk.calls(), [each for each in talk.received if each["type"] == "stt"]
        assert set(calls) == {"self.audio_speaker.set_volume"}
        assert len(calls) <= len(heard)
        assert await talk.visit.page.locator("input[name=volume]").input_value() == "30"
        await talk.until_visible(".talk-latency >> nth=-1")
        played = await talk.played()
        assert played.seconds > 1
        assert played.rms > 0.01
        starts = [each for each in talk.sent if each["type"] == "listen"]
        assert len(starts) > 1
        assert {each["mode"] for each in starts} == {"auto"}
        await talk.press("Stop")
        await talk.until_state(ASLEEP)


async def test_push_to_talk(
    playwright: Playwright, open_house: ConsoleHouse, tmp_path: Path
) -> None:
    speech = await write_speech(tmp_path / "volume.wav", VOLUME)
    async with talking(playwright, open_house, speech) as talk:
        await talk.choose("Push to talk")
        await talk.visit.page.locator(".talk-main").hover()
        await talk.visit.page.mouse.down()
        await talk.until_state("Listening")
        # 2 s of noise and 2 s of words, counted in what was sent: 60 ms a packet.
        await until(lambda: len(talk.packets) > 85, what="the words in packets")
        assert not any(each["type"] == "stt" for each in talk.received)
        await talk.visit.page.mouse.up()
        await talk.until_heard(VOLUME)
        await talk.until_said("The volume is now 30 percent.")
        await talk.until_state("Ready")
        listens = [
            (each["state"], each.get("mode")) for each in talk.sent if each["type"] == "listen"
        ]
        assert listens == [("start", "manual"), ("stop", None)]
        assert (await talk.played()).seconds > 1


async def test_typed_words_need_no_microphone(
    playwright: Playwright, open_house: ConsoleHouse
) -> None:
    async with talking(playwright, open_house) as talk:
        await talk.press("what time is it")
        await talk.until_heard("what time is it")
        await talk.until_said("It is")
        await talk.until_state("Ready")
        played = await talk.played()
        assert played.rms > 0.01
        assert max(played.gaps) < 0.001
        await talk.type("turn on the lamp")
        await talk.until_lamp("on")


async def test_a_tool_that_is_switched_off_is_called_no_more(
    playwright: Playwright, open_house: ConsoleHouse
) -> None:
    async with talking(playwright, open_house) as talk:
        box = talk.visit.page.get_by_label("Turn the lamp on")
        await talk.type("turn on the lamp")
        await talk.until_lamp("on")
        await talk.until_state("Ready")
        await talk.press("The lamp is on")
        await talk.until_lamp("off")

        await talk.until_listed(box.uncheck)
        await talk.type("turn on the lamp")
        await talk.until_visible('li[data-who="assistant"] >> nth=1')
        await talk.until_state("Ready")
        assert talk.calls() == ["self.lamp.turn_on"]
        await talk.until_lamp("off")

        await talk.until_listed(box.check)
        await talk.type("turn on the lamp")
        await talk.until_lamp("on")


async def test_an_answer_is_interrupted(playwright: Playwright, open_house: ConsoleHouse) -> None:
    async with talking(playwright, open_house) as talk:
        await talk.type(LONG)
        await talk.until_state("Speaking")
        await talk.press("Interrupt")
        await talk.until_state("Ready")
        assert any(each["type"] == "abort" for each in talk.sent)
        before = (await talk.played()).seconds
        await talk.type("what time is it")
        await talk.until_said("It is")
        await talk.until_state("Ready")
        assert (await talk.played()).seconds > before


async def test_full_duplex_is_interrupted_by_voice(
    playwright: Playwright, open_house: ConsoleHouse, tmp_path: Path
) -> None:
    speech = await write_speech(tmp_path / "later.wav", VOLUME, lead_s=5.0)
    async with talking(playwright, open_house, speech) as talk:
        await talk.choose("Microphone always on")
        await talk.press("Start talking")
        await talk.until_state("Listening")
        await talk.type(LONG)
        await talk.until_said("You can")
        await talk.until_heard(VOLUME, seconds=150)  # said while the answer sounds, or again
        await talk.until_said("The volume is now 30 percent.")
        await talk.until_state("Listening")
        listens = [each for each in talk.sent if each.get("state") == "start"]
        assert [each["mode"] for each in listens] == ["realtime"]


@pytest.mark.parametrize("problem", ["none", "denied"])
async def test_a_microphone_that_cannot_be_had_is_named(
    playwright: Playwright, open_house: ConsoleHouse, tmp_path: Path, problem: str
) -> None:
    speech = await write_speech(tmp_path / "silence.wav", "") if problem == "denied" else None
    async with talking(playwright, open_house, speech, allow=False) as talk:
        if problem == "none":
            await talk.visit.context.grant_permissions(["microphone"])
        await talk.press("Start talking")
        await talk.until_visible(f'[data-problem="{problem}"]')
        await talk.until_state(ASLEEP)
        await talk.type("what time is it")
        await talk.until_said("It is")


async def test_a_silent_microphone_is_named(
    playwright: Playwright, open_house: ConsoleHouse, tmp_path: Path
) -> None:
    speech = await write_speech(tmp_path / "silence.wav", "")
    async with talking(playwright, open_house, speech) as talk:
        await talk.press("Start talking")
        await talk.until_visible('[data-problem="silent"]')


async def test_over_plain_http_words_are_typed_and_heard(
    playwright: Playwright, open_house: ConsoleHouse
) -> None:
    async with talking(playwright, open_house, host=NAME) as talk:
        problem = talk.visit.page.locator('[data-problem="insecure"]')
        assert "localhost" in await problem.inner_text()
        await talk.type("what time is it")
        await talk.until_said("It is")
        await talk.until_state("Ready")
        assert talk.sent[0]["audio_params"]["format"] == "pcm"
        played = await talk.played()
        assert played.seconds > 0.5
        assert played.rms > 0.01


async def test_a_browser_that_is_not_claimed_shows_its_code(
    playwright: Playwright, house: ConsoleHouse
) -> None:
    async with talking(playwright, house) as talk:
        await talk.type("what time is it")
        code = await talk.visit.page.locator(".talk-code").inner_text()
        async with house.api() as http:
            body = {"code": code, "name": "Study"}
            async with http.post("/api/v1/devices/claim", json=body) as answer:
                assert answer.status == 200
        await talk.until_said("It is")  # it goes on by itself


async def test_a_user_who_is_signed_in_claims_it_at_once(
    playwright: Playwright, house: ConsoleHouse
) -> None:
    async with launched(playwright) as browser, visiting(browser, house, tap=False) as visit:
        talk = await TalkPage.open(visit, signed_in=True)
        await talk.type("what time is it")
        await talk.until_said("It is")
        assert await visit.page.locator(".talk-code").count() == 0


async def test_a_server_that_restarts_is_found_again(
    playwright: Playwright, tmp_path: Path
) -> None:
    house = ConsoleHouse(tmp_path, access="open")
    async with launched(playwright) as browser, visiting(browser, house, tap=False) as visit:
        async with house.serving():
            talk = await TalkPage.open(visit)
            await talk.type("what time is it")
            await talk.until_said("It is")
            await talk.until_state("Ready")
        await visit.page.get_by_text("The server stopped or restarted.").wait_for()
        async with house.serving():
            await talk.type("turn on the lamp")
            await talk.until_lamp("on")


class Viewer(BaseHTTPRequestHandler):
    """A vision model behind the OpenAI API: it notes the photo and says what it sees."""

    photos: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for part in asked["messages"][-1]["content"]:
            if part["type"] == "image_url":
                self.photos.append(base64.b64decode(part["image_url"]["url"].partition(",")[2]))
        message = {"role": "assistant", "content": "A green picture."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
        body = json.dumps({**answer, "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def vision_model() -> Iterator[str]:
    """Serve the model; the value is its base URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Viewer) as viewer:
        thread = Thread(target=viewer.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{viewer.server_port}/v1"
        finally:
            viewer.shutdown()
            thread.join()


async def test_the_camera_takes_photos_while_it_is_switched_on(
    playwright: Playwright, tmp_path: Path
) -> None:
    silence = await write_speech(tmp_path / "silence.wav", "")  # fake devices have a camera
    with vision_model() as url:
        more = f"vision: {{name: openai, model: m, base_url: '{url}'}}\n"
        house = ConsoleHouse(tmp_path, more, access="open")
        async with house.serving(), talking(playwright, house, silence) as talk:
            await talk.type("take a photo")
            await talk.until_visible('li[data-who="assistant"]')
            await talk.until_state("Ready")
            assert talk.calls() == []  # it is off, so there is no such tool
            await talk.until_listed(talk.visit.page.get_by_label("Take a photo").check)
            await talk.type("take a photo")
            await talk.until_said("A green picture.")
            assert talk.calls() == ["self.camera.take_photo"]
            assert Viewer.photos[0].startswith(b"\xff\xd8")  # a JPEG
