"""``vixio talk``: a server of its own or one that runs, real speech, and virtual sound."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import wave
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from firmware_test_client.config import Voice
from firmware_test_client.espeak import synthesise
from firmware_test_client.pcm import read_wav
from tests.e2e import harness
from tests.e2e.person import at_terminal
from tests.support import patient, warm
from vixio.cli.commands import main
from vixio.cli.talk.lines import Outcome
from vixio.cli.talk.watching import ended_turn
from vixio.core.errors import ProviderError
from vixio.core.metrics import TurnTimeline
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS

pytestmark = pytest.mark.timeout(300)

VIXIO = Path(sys.executable).with_name("vixio")
LONG = "60"
"""Seconds for an answer: never what a test is about."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings that use nothing outside of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIXIO_CONFIG", raising=False)
    monkeypatch.setattr("vixio.telemetry.logging.setup.configure_logging", lambda *_: None)
    tmp_path.joinpath("vixio.yaml").write_text(
        f"{patient.YAML}data: {{folder: {tmp_path / 'data'}}}\nmemory: {{store: none}}\n"
        # Other ports, other names and a lock: of no account to a server that nobody else reaches.
        "server: {port: 1, http_port: 2, public_host: vixio.invalid, access: activation}\n"
    )
    return tmp_path


def vixio(*arguments: str, said: str = "") -> Result:
    return CliRunner().invoke(main, ["talk", "--timeout", LONG, *arguments], input=said)


async def spoken(path: Path, text: str) -> Path:
    """Write a text as eSpeak says it."""
    pcm = await synthesise(text, Voice())
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, pcm.rate, 0, "NONE", ""))
        file.writeframes(pcm.data)
    return path


def program(path: Path, text: str) -> None:
    """Write a program of Python."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("answered", Outcome.ANSWERED),
        ("not_understood", Outcome.NOT_UNDERSTOOD),
        ("tool_failed", Outcome.TOOL_FAILED),
        ("failed:no_answer", Outcome.FAILED),
        ("interrupted:wake_word_detected", Outcome.INTERRUPTED),
        ("interrupted:continued", None),  # its words are answered with those behind it
        ("interrupted:superseded", None),
    ],
)
def test_what_became_of_a_turn(outcome: str, expected: Outcome | None) -> None:
    timeline = TurnTimeline(1, {"voice_end": 0.5, "turn_end": 1.0}, outcome=outcome)
    turn = ended_turn(timeline)
    assert (turn and turn.outcome) == expected
    assert ended_turn(TurnTimeline(1, {}, outcome=outcome)) is None, "a reminder"


def test_lines_of_a_pipe_are_spoken_and_their_answers_drawn(here: Path) -> None:
    """Behind a goodbye the device calls again."""
    said = "hello\n\ngoodbye\nset the volume to thirty percent\n"
    done = vixio("--save", "both.wav", said=said)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    for line in (
        "  user    hello",
        "  heard   hello",
        "  vixio   Hello!",
        "  vixio   Goodbye!",
        '  tool    self_audio_speaker_set_volume {"volume": 30}',
        "  vixio   The volume is now 30 percent.",
    ):
        assert line in lines
    steps = [line.split("ms")[0].strip("0123456789 -") for line in lines if " ms" in line]
    assert len([line for line in lines if line.startswith("  ms      end of turn")]) == 3
    assert steps.count("first sound") == steps.count("in all") == 3
    assert lines[-1].startswith("3 of 3 turns answered; end of speech to first sound: ")
    sound = read_wav(here / "both.wav")
    assert sound.duration > 3
    assert sound.rms > 300
    shown = CliRunner().invoke(main, ["conversations"]).output.splitlines()
    assert shown[1].split()[1] == "terminal", "on record as the conversations of `vixio chat`"


async def test_files_are_played_to_the_server(here: Path) -> None:
    file = str(await spoken(here / "time.wav", "what time is it"))
    done = await asyncio.to_thread(vixio, file, file)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("  user    time.wav\n  heard   what time is it\n") == 2


def test_what_is_not_understood_is_not_answered() -> None:
    done = vixio(said="what's the weather tomorrow\nhello\n")
    assert done.exit_code == 1, done.output
    assert "  heard   (nothing that it understood; perhaps: " in done.stdout
    assert "          (not understood)\n" in done.stdout
    assert "\n1 of 2 turns answered; " in done.stdout


def test_silence_is_not_answered(here: Path) -> None:
    with wave.open(str(here / "silence.wav"), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(bytes(16_000))
    done = vixio("silence.wav", "--timeout", "1")
    assert done.exit_code == 1
    assert done.stdout.endswith("          (no answer)\n\n0 of 1 turns answered\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.wav"], "none.wav: No such file or directory"),
        (["text.wav"], "text.wav: neither WAV nor MP3 nor Ogg Opus"),
        (["long.wav"], "long.wav: longer than 120 s"),
        (["--mic"], "there is no program that records, of arecord, parec, pw-record: install "),
        (["--play"], "there is no program that plays, of aplay, paplay, pw-play: install "),
        (["--mic", "x.wav"], "either --mic or files"),
        (["--save", "nowhere/x.wav"], "nowhere/x.wav: there is no folder nowhere"),
        (["--url", "ftp://here"], "--url ftp://here: give the OTA URL"),
        (["--url", "ws://127.0.0.1:9/"], "cannot connect to ws://127.0.0.1:9/"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], said: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.joinpath("text.wav").write_text("no sound")
    with wave.open(str(here / "long.wav"), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 121 * 8_000))
    monkeypatch.setenv("PATH", str(here))
    done = vixio(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith(f"vixio: {said}")
    assert done.stderr.count("\n") == 1


async def test_a_server_that_runs_is_seen_as_a_device_sees_it() -> None:
    failing = ProviderError("scripted", "no key", retryable=False, reason="no_key")
    agent = ScriptedAgentBackend(lambda text: ["It is noon."] if "time" in text else [failing])
    asr = ScriptedASR(["the time", "fail"])
    async with harness.serving(asr=asr, agent=agent, tts=ScriptedTTS()) as server:
        for url, status in ((server.ota_url, 0), (server.ws_url, 1)):
            done = await asyncio.to_thread(vixio, "--url", url, said="what time is it\n")
            assert done.exit_code == status, done.output
            if status == 0:
                assert "  heard   the time\n  vixio   It is noon.\n  ms      words " in done.stdout
                assert "end of turn" not in done.stdout, "no device knows of it"
            else:
                assert "  heard   fail\n" in done.stdout
                assert "  shown   " in done.stdout, "the reason, on the screen"
                assert "          (failed)\n" in done.stdout


async def test_a_server_that_lets_in_what_is_claimed(here: Path) -> None:
    config = harness.settings(
        server={"access": "activation"}, data={"folder": str(here / "data"), "database": ""}
    )
    agent, asr = ScriptedAgentBackend(), ScriptedASR(["hello"])
    async with harness.serving(config, agent=agent, asr=asr, tts=ScriptedTTS()) as server:
        refused = await asyncio.to_thread(vixio, "--url", server.ws_url, said="hello\n")
        assert refused.exit_code == 2
        assert refused.stderr.endswith("from which the device gets one\n")
        command = ("talk", "--url", server.ota_url)
        environment = warm.kept()
        async with at_terminal(VIXIO, *command, directory=here, environment=environment) as person:
            shown = await person.line("  shown   Activation: ")
            (code,) = re.findall(r"\d{6}", shown)
            claim = ["devices", "claim", code]
            claimed = await asyncio.to_thread(CliRunner().invoke, main, claim)
            assert claimed.exit_code == 0, claimed.output
            await person.expect("> ")
            person.type("hello")
            await person.expect("  heard   hello")
            await person.expect("in all")
            await person.expect("\n> ")
            person.end()
            assert await person.left() == 0


async def test_a_person_stops_answers_and_ends(here: Path) -> None:
    environment = warm.kept()
    async with at_terminal(VIXIO, "talk", directory=here, environment=environment) as person:
        await person.expect("Ctrl-C stops an answer, Ctrl-D ends.")
        await person.expect("> ")
        person.type("what can you do")
        await person.expect("  vixio   You can say:")
        await person.interrupt()
        await person.expect("(interrupted)")
        await person.expect("\n> ")
        person.type("what can you do")
        await person.expect("  vixio   You can say:")
        person.type("what time is it")
        await person.expect("(interrupted)")
        await person.expect("  heard   what time is it")
        await person.expect("in all")
        await person.expect("\n> ")
        person.end()
        await person.expect("1 of 3 turns answered, 2 interrupted; ")
        assert await person.left() == 0
    assert "Traceback" not in person.seen


RECORDER = """
import sys, time
sound = open({file!r}, "rb").read()[44:]
begun, at = time.monotonic(), 0
while True:  # as a sound card: in real time, with silence behind the words
    sys.stdout.buffer.write(sound[at : at + 3200].ljust(3200, b"\\0"))
    sys.stdout.buffer.flush()
    at += 3200
    time.sleep(max(0.0, begun + at / 32000 - time.monotonic()))
"""

PLAYER = """
import sys
with open({file!r}, "ab") as file:
    while data := sys.stdin.buffer.read1():
        file.write(data)
"""


async def test_a_microphone_and_a_loudspeaker(here: Path) -> None:
    said = (await synthesise("what time is it", Voice())).resampled(16_000)
    with wave.open(str(here / "said.wav"), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 16_000) + said.data)
    program(here / "bin" / "arecord", RECORDER.format(file=str(here / "said.wav")))
    program(here / "bin" / "aplay", PLAYER.format(file=str(here / "played")))
    environment = {**warm.kept(), "PATH": f"{here / 'bin'}:{os.environ['PATH']}"}
    command = ("talk", "--mic", "--play", "--save", "both.wav")
    async with at_terminal(VIXIO, *command, directory=here, environment=environment) as person:
        await person.expect("Speak; Ctrl-C stops an answer, Ctrl-D ends.")
        await person.expect("  heard   what time is it")
        await person.expect("  vixio   It is ")
        await person.expect("in all")
        await person.interrupt()  # nothing to stop
        await person.expect("1 of 1 turns answered")
        assert await person.left() == 0
    with wave.open(str(here / "both.wav")) as both:
        length = both.getnframes() / both.getframerate()
    played = len((here / "played").read_bytes()) / 2 / 24_000
    assert 0.5 < played < length


def test_programs_without_a_sound_card(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder is what the conversation is for; without a player it goes on."""
    broken = "import sys\nsys.exit('audio open error: No such device')\n"
    program(here / "bin" / "parec", broken)
    program(here / "bin" / "aplay", broken)
    monkeypatch.setenv("PATH", f"{here / 'bin'}")
    done = vixio("--play", said="hello\n")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("aplay does not play: audio open error: No such device") == 1
    done = vixio("--mic")
    assert done.exit_code == 2
    (line,) = [each for each in done.stderr.splitlines() if each.startswith("vixio: ")]
    assert line.endswith("parec records no more: audio open error: No such device")
