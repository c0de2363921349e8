"""The page Talk in a real browser, against a real server: the words go through the whole way."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

pytest.importorskip("playwright.sync_api", reason="the console's tests need playwright")

from playwright.sync_api import Playwright, expect, sync_playwright

from tests.console.talking import (
    ALLOWED,
    CHROMIUM,
    FAKE_MICROPHONE,
    TalkPage,
    TalkServer,
    chromium,
    write_speech,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="the console's tests need Chromium"),
]

VOLUME = "set the volume to thirty percent"
LONG = "what can you do"
MICROPHONE = (FAKE_MICROPHONE, ALLOWED)


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TalkServer]:
    server = TalkServer(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_speech(tmp_path_factory.mktemp("speech") / "volume.wav", VOLUME)


@pytest.mark.parametrize("codec", ["opus", "pcm"])
def test_spoken_words_are_answered_and_a_tool_is_called(
    playwright: Playwright, server: TalkServer, speech: Path, codec: str
) -> None:
    with chromium(playwright, *MICROPHONE, wav=speech) as browser:
        talk = TalkPage.open(browser, server.url, "?codec=pcm" if codec == "pcm" else "")
        talk.page.get_by_role("button", name="Start talking").click()
        talk.expect_heard(VOLUME)
        talk.expect_said("The volume is now 30 percent.")
        talk.expect_state("Listening")  # again, once all was played

        assert talk.sent[0]["audio_params"]["format"] == codec
        assert all(len(packet) == 1920 for packet in talk.packets) == (codec == "pcm")
        assert talk.calls() == ["self.audio_speaker.set_volume"]
        expect(talk.page.get_by_label("Volume", exact=True)).to_have_value("30")
        expect(talk.page.locator(".talk-latency")).to_have_count(1)
        played = talk.played()
        assert played.seconds > 1
        assert played.rms > 0.01
        assert max(played.gaps) < 0.001
        starts = [each for each in talk.sent if each["type"] == "listen"]
        assert [each["mode"] for each in starts] == ["auto", "auto"]
        talk.page.get_by_role("button", name="Stop").click()
        talk.expect_state("Asleep. Press the button to begin.")
        assert talk.wrong == []


def test_push_to_talk(playwright: Playwright, server: TalkServer, speech: Path) -> None:
    with chromium(playwright, *MICROPHONE, wav=speech) as browser:
        talk = TalkPage.open(browser, server.url)
        talk.page.get_by_label("Push to talk").check()
        button = talk.page.locator(".talk-main")
        button.hover()
        talk.page.mouse.down()
        talk.expect_state("Listening")
        # 2 s of noise and 2 s of words, counted in what was sent: 60 ms a packet.
        while len(talk.packets) < 85:
            talk.page.wait_for_timeout(60)
        assert not any(each["type"] == "stt" for each in talk.received)
        talk.page.mouse.up()
        talk.expect_heard(VOLUME)
        talk.expect_said("The volume is now 30 percent.")
        talk.expect_state("Ready")
        listens = [
            (each["state"], each.get("mode")) for each in talk.sent if each["type"] == "listen"
        ]
        assert listens == [("start", "manual"), ("stop", None)]
        assert talk.played().seconds > 1


def test_typed_words_need_no_microphone(playwright: Playwright, server: TalkServer) -> None:
    with chromium(playwright) as browser:
        talk = TalkPage.open(browser, server.url)
        talk.page.get_by_role("button", name="what time is it").click()
        talk.expect_heard("what time is it")
        talk.expect_said("It is")
        talk.expect_state("Ready")
        assert talk.played().rms > 0.01
        talk.type("turn on the lamp")
        expect(talk.page.get_by_role("button", name="The lamp is on")).to_be_visible(timeout=30_000)
        assert talk.wrong == []


def test_a_tool_that_is_switched_off_is_called_no_more(
    playwright: Playwright, server: TalkServer
) -> None:
    with chromium(playwright) as browser:
        talk = TalkPage.open(browser, server.url)
        box = talk.page.get_by_label("Turn the lamp on")
        talk.type("turn on the lamp")
        expect(talk.page.get_by_role("button", name="The lamp is on")).to_be_visible(timeout=30_000)
        talk.expect_state("Ready")
        talk.page.get_by_role("button", name="The lamp is on").click()

        _listed(talk, box.uncheck)
        talk.type("turn on the lamp")
        expect(talk.page.locator('li[data-who="assistant"]')).to_have_count(2, timeout=30_000)
        talk.expect_state("Ready")
        assert talk.calls() == ["self.lamp.turn_on"]
        expect(talk.page.get_by_role("button", name="The lamp is off")).to_be_visible()

        _listed(talk, box.check)
        talk.type("turn on the lamp")
        expect(talk.page.get_by_role("button", name="The lamp is on")).to_be_visible(timeout=30_000)


def _listed(talk: TalkPage, act: Callable[[], None]) -> None:
    """Do something that changes the list of tools, and wait until the server has listed them."""

    def lists() -> int:
        payloads = [each.get("payload", {}) for each in talk.received]
        return sum(each.get("method") == "tools/list" for each in payloads)

    before = lists()
    act()
    while lists() == before:
        talk.page.wait_for_timeout(50)


def test_an_answer_is_interrupted(playwright: Playwright, server: TalkServer) -> None:
    with chromium(playwright) as browser:
        talk = TalkPage.open(browser, server.url)
        talk.type(LONG)
        talk.expect_state("Speaking")
        talk.page.get_by_role("button", name="Interrupt").click()
        talk.expect_state("Ready")
        assert any(each["type"] == "abort" for each in talk.sent)
        before = talk.played().seconds
        talk.type("what time is it")
        talk.expect_said("It is")
        talk.expect_state("Ready")
        assert talk.played().seconds > before


def test_full_duplex_is_interrupted_by_voice(
    playwright: Playwright, server: TalkServer, tmp_path: Path
) -> None:
    wav = write_speech(tmp_path / "later.wav", VOLUME, lead_s=5.0)
    with chromium(playwright, *MICROPHONE, wav=wav) as browser:
        talk = TalkPage.open(browser, server.url)
        talk.page.get_by_label("Full duplex").check()
        talk.page.get_by_role("button", name="Start talking").click()
        talk.expect_state("Listening")
        talk.type(LONG)
        talk.expect_said("You can")
        talk.expect_heard(VOLUME)  # said while the answer sounds
        talk.expect_said("The volume is now 30 percent.")
        talk.expect_state("Listening")
        listens = [each for each in talk.sent if each.get("state") == "start"]
        assert [each["mode"] for each in listens] == ["realtime"]


@pytest.mark.parametrize(
    ("flags", "problem"),
    [((), "none"), ((FAKE_MICROPHONE,), "denied")],
    ids=["no microphone", "refused"],
)
def test_a_microphone_that_cannot_be_had_is_named(
    playwright: Playwright, server: TalkServer, flags: tuple[str, ...], problem: str
) -> None:
    with chromium(playwright, *flags) as browser:
        talk = TalkPage.open(browser, server.url)
        if not flags:
            talk.page.context.grant_permissions(["microphone"])
        talk.page.get_by_role("button", name="Start talking").click()
        expect(talk.page.locator(f'[data-problem="{problem}"]')).to_be_visible(timeout=10_000)
        talk.expect_state("Asleep. Press the button to begin.")
        talk.type("what time is it")
        talk.expect_said("It is")


def test_a_silent_microphone_is_named(
    playwright: Playwright, server: TalkServer, tmp_path: Path
) -> None:
    with chromium(playwright, *MICROPHONE, wav=write_speech(tmp_path / "zero.wav", "")) as browser:
        talk = TalkPage.open(browser, server.url)
        talk.page.get_by_role("button", name="Start talking").click()
        expect(talk.page.locator('[data-problem="silent"]')).to_be_visible(timeout=20_000)


def test_over_plain_http_words_are_typed_and_heard(
    playwright: Playwright, server: TalkServer
) -> None:
    with chromium(playwright, "--host-resolver-rules=MAP vixio.lan 127.0.0.1") as browser:
        talk = TalkPage.open(browser, f"http://vixio.lan:{server.http_port}")
        expect(talk.page.locator('[data-problem="insecure"]')).to_contain_text("localhost")
        talk.type("what time is it")
        talk.expect_said("It is")
        talk.expect_state("Ready")
        assert talk.sent[0]["audio_params"]["format"] == "pcm"
        assert talk.played().seconds > 0.5
        assert talk.played().rms > 0.01


def test_a_browser_that_is_not_claimed_shows_its_code(
    playwright: Playwright, tmp_path: Path
) -> None:
    server = TalkServer(tmp_path, access="activation")
    server.start()
    try:
        with chromium(playwright) as browser:
            talk = TalkPage.open(browser, server.url)
            talk.type("what time is it")
            code = talk.page.locator(".talk-code")
            expect(code).to_be_visible(timeout=20_000)
            login = server.login()
            server.post("/devices/claim", {"code": code.inner_text()}, login["token"])
            talk.expect_said("It is")  # it goes on by itself

            signed_in = TalkPage.open(browser, server.url, login=login)
            signed_in.type("what time is it")
            signed_in.expect_said("It is")
            expect(signed_in.page.locator(".talk-code")).to_have_count(0)
    finally:
        server.stop()


def test_a_server_that_restarts_is_found_again(playwright: Playwright, tmp_path: Path) -> None:
    server = TalkServer(tmp_path)
    server.start()
    try:
        with chromium(playwright) as browser:
            talk = TalkPage.open(browser, server.url)
            talk.type("what time is it")
            talk.expect_said("It is")
            talk.expect_state("Ready")
            server.stop()
            expect(talk.page.get_by_text("The server stopped or restarted.")).to_be_visible()
            server.start()
            talk.type("turn on the lamp")
            expect(talk.page.get_by_role("button", name="The lamp is on")).to_be_visible(
                timeout=30_000
            )
    finally:
        server.stop()


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


def test_the_camera_takes_photos_while_it_is_switched_on(
    playwright: Playwright, tmp_path: Path
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Viewer) as viewer:
        thread = Thread(target=viewer.serve_forever)
        thread.start()
        base = f"http://127.0.0.1:{viewer.server_port}/v1"
        vision = f"vision: {{name: openai, model: m, base_url: '{base}'}}\n"
        server = TalkServer(tmp_path, more=vision)
        try:
            server.start()
            with chromium(playwright, *MICROPHONE) as browser:
                talk = TalkPage.open(browser, server.url)
                talk.type("take a photo")
                expect(talk.page.locator('li[data-who="assistant"]')).to_have_count(
                    1, timeout=30_000
                )
                talk.expect_state("Ready")
                assert talk.calls() == []  # it is off, so there is no such tool
                _listed(talk, talk.page.get_by_label("Take a photo").check)
                talk.type("take a photo")
                talk.expect_said("A green picture.")
                assert talk.calls() == ["self.camera.take_photo"]
                assert Viewer.photos[0].startswith(b"\xff\xd8")  # a JPEG
                assert talk.wrong == []
        finally:
            server.stop()
            viewer.shutdown()
            thread.join()
