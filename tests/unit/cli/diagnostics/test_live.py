"""``vixio check --live``: every part is used, and one that fails stops no other."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.llm_server import LLMServer, failure, whole
from tests.unit.cli.diagnostics.kit import Kit
from vixio.cli.commands import main
from vixio.cli.diagnostics.live import check_live, turn_row
from vixio.cli.diagnostics.live_speech import alike
from vixio.cli.diagnostics.pictures import BLUE, plain_png
from vixio.cli.diagnostics.row import Row
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.providers.openai_vision.provider import OpenAIVisionProvider, OpenAIVisionSettings
from vixio.providers.registry import ProviderFactory, ProviderKind
from vixio.providers.tts import TTSProvider
from vixio.settings import Settings
from vixio.testing import ScriptedASR, ScriptedTTS, ScriptedVAD
from vixio.web.http.images import media_type

MCP_SERVER = Path(__file__).resolve().parents[3] / "support" / "mcp_server.py"
SENSES = ["tts", "vad", "asr", "agent"]
SOURCES = ["tools.builtin", "tools.local"]
SENTENCE = "please turn on the lamp"


RESOLVE = registry.resolve
START, SYNTHESIZE = EspeakTTSProvider.start, EspeakTTSProvider.synthesize
_said: dict[tuple[str, str, str], list[bytes]] = {}
"""What eSpeak NG has said to a text in a language."""


async def say_again(
    self: EspeakTTSProvider, text: str, *, language: str = ""
) -> AsyncIterator[bytes]:
    """Speak as eSpeak NG does, whose processes are started for what it has not said yet."""
    key = (text, language, self._settings.model_dump_json())
    if key not in _said:
        real = EspeakTTSProvider(self._settings)
        await START(real)
        _said[key] = [chunk async for chunk in SYNTHESIZE(real, text, language=language)]
        await real.close()
    for chunk in _said[key]:
        yield chunk


@pytest.fixture
def kit(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """A working TTS and ASR."""

    async def start(self: EspeakTTSProvider) -> None: ...

    monkeypatch.setattr(EspeakTTSProvider, "start", start)
    monkeypatch.setattr(EspeakTTSProvider, "synthesize", say_again)
    kit.tts = EspeakTTSProvider()
    kit.asr.script = [SENTENCE]
    return kit


async def run(limit: float = 30.0, **settings: object) -> dict[str, Row]:
    rows: list[Row] = []
    all_ok = await check_live(
        Settings.model_validate(settings), rows.append, lambda _: None, limit=limit
    )
    assert all_ok == all(row.ok for row in rows)
    return {row.part: row for row in rows}


def failed(rows: dict[str, Row]) -> dict[str, str]:
    return {part: row.detail for part, row in rows.items() if not row.ok}


async def test_everything_works(kit: Kit) -> None:
    rows = await run()
    assert list(rows) == [*SENSES, *SOURCES, "turn"]
    assert failed(rows) == {}
    senses = [rows[part] for part in SENSES]
    assert {row.provider for row in senses} == {"espeak", "scripted"}
    for row in senses:
        assert row.ready is not None
        assert row.first is not None
        assert row.total is not None
        assert 0 <= row.first <= row.total
    assert rows["asr"].detail == f"understood “{SENTENCE}”"
    assert "for “Please turn on the lamp.”" in rows["tts"].detail
    assert kit.asr.hints[0].language == "en"
    assert (kit.vad.open_streams, kit.asr.open_streams) == (0, 0)
    assert sorted(kit.closed) == ["agent", "asr", "vad"]
    (agent,) = kit.agent.agents
    assert agent.requests[0].text == "Hello!"
    assert agent.closed


async def test_a_voice_that_fails_leaves_the_others_espeak(kit: Kit) -> None:
    kit.tts = ScriptedTTS(error=ProviderUnavailable("scripted", "no key: set tts.api_key"))
    rows = await run()
    assert failed(rows) == {"tts": "scripted: no key: set tts.api_key"}
    assert rows["vad"].detail.endswith("of eSpeak's")
    assert rows["asr"].detail == f"understood “{SENTENCE}” of eSpeak's"


async def test_what_espeak_says_is_understood_in_part_by_a_recogniser_that_works(kit: Kit) -> None:
    kit.tts = ScriptedTTS(error=ProviderUnavailable("scripted", "no key: set tts.api_key"))
    kit.asr.script = ["these turn on a lump"]
    rows = await run()
    assert list(failed(rows)) == ["tts"]
    assert rows["asr"].warn
    heard = "heard “these turn on a lump” for “Please turn on the lamp.”, which eSpeak said"
    assert rows["asr"].detail == heard
    kit.asr.script = ["what is it like out there"]
    assert list(failed(await run())) == ["tts", "asr"]


async def test_a_voice_in_which_no_speech_is_found(kit: Kit) -> None:
    kit.tts = ScriptedTTS()  # is silent
    rows = await run()
    assert list(failed(rows)) == ["tts"]
    assert failed(rows)["tts"].startswith("no speech was found in what it says, but in eSpeak's")


async def test_a_voice_without_audio(kit: Kit) -> None:
    kit.tts = ScriptedTTS(seconds_per_char=0)
    rows = await run(assistant={"language": "zh-CN"})
    assert failed(rows)["tts"] == "no audio for “请把灯打开。”: does its voice fit zh-CN?"


async def test_a_detector_that_finds_nothing(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vixio.testing.providers.LOUD", 40_000)
    rows = await run()
    assert failed(rows) == {
        "vad": "finds no speech where there is some: see listening.threshold in the settings"
    }
    assert rows["asr"].detail == f"understood “{SENTENCE}” of eSpeak's"


async def test_words_that_are_others(kit: Kit) -> None:
    kit.asr.script = ["what a nice day", "何"]
    rows = await run()
    assert failed(rows) == {
        "asr": "heard “what a nice day” for “Please turn on the lamp.”: "
        "does it know assistant.language, en?"
    }


async def test_a_voice_that_is_not_understood_where_espeak_is(kit: Kit) -> None:
    kit.asr.script = ["turn a nice day", SENTENCE]
    rows = await run()
    assert failed(rows) == {}
    assert rows["asr"].warn
    assert rows["asr"].detail == "understood eSpeak's voice, but of yours heard “turn a nice day”"


async def test_no_voice_works(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(self: TTSProvider) -> None:
        raise ProviderUnavailable("espeak", "no library")

    monkeypatch.setattr(EspeakTTSProvider, "start", start)
    rows = await run()
    assert list(failed(rows)) == ["tts", "vad", "asr"]
    assert failed(rows)["asr"].startswith("not tried: there is no speech to hear; mend the voice")


@pytest.mark.parametrize("part", ["vad", "asr", "agent"])
async def test_one_that_fails_stops_no_other(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    async def start() -> None:
        raise RuntimeError("a\ndefect")

    monkeypatch.setattr(getattr(kit, part), "start", start)
    rows = await run()
    assert [each for each in rows if each != "turn"] == [*SENSES, *SOURCES]
    assert ("turn" in rows) == (part == "vad")  # a turn is the sum of the others
    assert failed(rows) == {part: "RuntimeError: a defect"}
    assert sorted(kit.closed) == ["agent", "asr", "vad"]


@pytest.mark.parametrize("part", ["vad", "asr", "agent"])
async def test_one_that_hangs_is_given_up(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    async def start() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(getattr(kit, part), "start", start)
    rows = await run(limit=0.3)
    assert part in failed(rows)
    assert "within 0.3 s" in failed(rows)[part]


async def test_a_model_that_says_nothing(kit: Kit) -> None:
    kit.agent.script = lambda _: []
    assert failed(await run()) == {"agent": "answered nothing: try another agent.model"}
    kit.tts = EspeakTTSProvider()  # the first is closed
    kit.agent.script = lambda _: [ProviderError("scripted", "the api_key is refused")]
    assert failed(await run()) == {"agent": "scripted: the api_key is refused"}


async def test_each_of_several_is_tried(kit: Kit) -> None:
    """In a fallback list, the failure of the first provider would go unnoticed."""
    kit.asr.script = [ProviderError("scripted", "refused"), SENTENCE]
    rows = await run(asr=[{"name": "a"}, {"name": "b"}], tts=[{"name": "a"}])
    assert list(rows) == ["tts", "vad", "asr[0]", "asr[1]", "agent", *SOURCES, "turn"]
    assert failed(rows) == {"asr[0]": "scripted: refused"}


async def test_a_model_that_another_stood_in_for(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = registry.resolve

    def resolve(kind: ProviderKind, name: str) -> ProviderFactory[Any, Any]:
        return (RESOLVE if kind is ProviderKind.AGENT else scripted)(kind, name)

    monkeypatch.setattr(registry, "resolve", resolve)
    async with LLMServer() as server:
        server.script(failure(401, "bad key"))
        broken = {"name": "openai", "base_url": server.base_url, "api_key": "k", "model": "m"}
        rows = await run(agent={"name": "fallback", "models": [broken, {"name": "phrasebook"}]})
        assert list(failed(rows)) == ["agent"]
        assert failed(rows)["agent"].startswith(
            "openai/m (no valid key) did not answer, phrasebook did: “Hello!"
        )


async def test_an_apology_is_no_answer(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The phrase book has answers in some languages, and words of regret in all."""
    scripted = registry.resolve

    def resolve(kind: ProviderKind, name: str) -> ProviderFactory[Any, Any]:
        return (RESOLVE if kind is ProviderKind.AGENT else scripted)(kind, name)

    monkeypatch.setattr(registry, "resolve", resolve)
    kit.asr.script = ["램프를 켜 주세요"]
    rows = await run(assistant={"language": "ko"}, agent={"name": "phrasebook"})
    assert list(failed(rows)) == ["agent"]
    assert "answered “안녕하세요.” with an apology: “" in failed(rows)["agent"]
    assert "a language model ko as well" in failed(rows)["agent"]


async def test_the_sources_of_tools_are_asked(kit: Kit, tmp_path: Path) -> None:
    works = {"command": sys.executable, "args": [str(MCP_SERVER), "stdio"]}
    servers = {"home": works, "dead": {"command": str(tmp_path / "none")}}
    rows = await run(mcp_servers=servers)
    assert list(failed(rows)) == ["tools.dead"]
    assert str(tmp_path / "none") in failed(rows)["tools.dead"]
    assert re.match(r"\d+ tools", rows["tools.home"].detail)


def test_a_slow_turn_is_a_warning_with_a_command(tmp_path: Path) -> None:
    path = tmp_path / "my settings.yaml"
    words = {"asr": 1.2, "agent": 0.0, "tts": 1.4}
    rows = [Row(kind, first=seconds, total=seconds) for kind, seconds in words.items()]
    chosen = {"asr": {"name": "whisper"}, "tts": {"name": "kokoro"}}
    settings = Settings.model_validate({"assistant": {"language": "zh"}, **chosen})
    turn = turn_row(settings, rows, path)
    assert turn is not None
    assert turn.ok
    assert turn.warn
    assert turn.total == pytest.approx(3.1)
    assert "0.5 s to be sure of it, 1.2 s for the words" in turn.detail
    (command,) = re.findall("faster: (.*)$", turn.detail)
    program, *arguments = shlex.split(command)
    assert program.endswith("vixio")
    assert arguments == [*("setup", "--voice", "edge", "--yes", "--no-wait", "--config", str(path))]
    slow = turn_row(settings, [*rows[::2], Row("agent", first=3.0, total=4.0)], path)
    assert slow is not None
    assert "most of it is the model" in slow.detail
    assert turn_row(settings, rows[:2], path) is None


async def test_vision(kit: Kit) -> None:
    async with LLMServer() as server:
        server.script(
            whole("It is RED."),
            whole("I see a cat."),
            failure(401, "bad key"),
        )

        def vision() -> OpenAIVisionProvider:
            return OpenAIVisionProvider(OpenAIVisionSettings(base_url=server.base_url, retries=0))

        kit.vision = vision()
        rows = await run(vision={})
        assert list(rows) == [*SENSES, "vision", *SOURCES, "turn"]
        assert rows["vision"].detail == "saw a red picture: “It is RED.”"
        kit.vision, kit.tts = vision(), EspeakTTSProvider()
        assert failed(await run(vision={})) == {
            "vision": "of a red picture it says “I see a cat.”: can the model of vision.model see?"
        }
        kit.vision, kit.tts = vision(), EspeakTTSProvider()
        assert "refuses the api_key" in failed(await run(vision={}))["vision"]
        image = server.requests[0]["messages"][-1]["content"][1]["image_url"]["url"]
        assert image.startswith("data:image/png;base64,iVBOR")


def test_the_picture_is_one() -> None:
    assert media_type(plain_png(BLUE)) == "image/png"


@pytest.mark.parametrize(
    ("heard", "good"),
    [
        ("please turn on the lamp", True),
        ("Please, turn on the lamp!", True),
        ("please turn on that lamp", True),
        ("", False),
        ("set the volume", False),
        ("what time is it", False),
    ],
)
def test_what_counts_as_understood(heard: str, good: bool) -> None:
    assert alike(heard, "Please turn on the lamp.", "en") is good


@pytest.mark.parametrize(
    ("language", "said", "heard", "good"),
    [
        ("de", "Bitte schalte die Lampe ein.", "bitte schalte die lampe ein", True),
        ("de", "Bitte schalte die Lampe ein.", "mit der Schalter die Lampen ein.", False),
        ("zh-CN", "请把灯打开。", "请把灯打開", True),
        ("zh-CN", "请把灯打开。", "请等一下", False),
        ("ko", "램프를 켜 주세요.", "램프를 켜주세요", True),
        ("en", "Please turn on the lamp.", "please turn on the lamp and then off again", False),
    ],
)
def test_words_are_compared_and_characters_where_there_are_no_spaces(
    language: str, said: str, heard: str, good: bool
) -> None:
    assert alike(heard, said, language) is good


def test_the_command(kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vixio.telemetry.logging.setup.configure_logging", lambda *_: None)
    path = tmp_path / "vixio.yaml"
    path.write_text("assistant: {language: en}\n")
    done = CliRunner().invoke(main, ["check", "--live", "--config", str(path)])
    assert done.exit_code == 0, done.output
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["part", "provider", "ready", "first", "total"]
    assert [line.split()[:3] for line in lines] == [
        ["tts", "ok", "espeak"],
        *([part, "ok", "scripted"] for part in SENSES[1:]),
        ["tools", "ok", "builtin"],
        ["tools", "ok", "local"],
        lines[-1].split()[:3],
    ]
    assert lines[-1].startswith("turn    ok ")
    assert "asking the model" in done.stderr

    kit.vad, kit.asr, kit.tts = ScriptedVAD(), ScriptedASR(["no"]), EspeakTTSProvider()
    done = CliRunner().invoke(main, ["check", "--live", "--config", str(path)])
    assert done.exit_code == 1
    (line,) = [line for line in done.stdout.splitlines() if "FAILED" in line]
    assert line.startswith("asr     FAILED  scripted")
    done = CliRunner().invoke(main, ["check", "--live", "--config", "none.yaml"])
    assert done.exit_code == 2


@pytest.mark.slow
async def test_the_built_in_default_passes() -> None:
    assert failed(await run()) == {}
