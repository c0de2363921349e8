"""``vixio setup`` as a user runs it: with options, without a terminal, and at one."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import stat
import sys
from pathlib import Path

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.person import at_terminal
from tests.e2e.processes import Running, running
from tests.support.llm_server import LLMServer, failure, listing, text
from tests.support.servers import free_ports
from vixio.settings import load_settings
from vixio.settings.env_file import read_env

VIXIO = Path(sys.executable).with_name("vixio")

FASTER = {"Take that instead? [Y/n]: ": "n"}
"""Asked on a machine that is slow at this moment."""

OFFLINE = (
    *("--language", "en", "--ears", "commands", "--model", "phrasebook"),
    *("--voice", "espeak", "--tools", "none"),
)


def environment(directory: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    if "PATH" in kept:  # where `vixio` is a command already, it is not asked for
        folders = kept["PATH"].split(os.pathsep)
        kept["PATH"] = os.pathsep.join(each for each in folders if not Path(each, "vixio").exists())
    return {**kept, "HOME": str(directory), "LANG": "C.UTF-8", "TERM": "xterm"}


def files(directory: Path) -> set[str]:
    """Return the names of what is there, but for caches and states."""
    return {each.name for each in directory.iterdir()} - {".cache", ".local"}


async def ended(run: Running, status: int) -> str:
    """Wait for the end; return what it wrote."""
    assert run.process.stdout is not None
    async with asyncio.timeout(90):
        run.out.append((await run.process.stdout.read()).decode())
        assert await run.process.wait() == status, "".join(run.out + run.err)
    return "".join(run.out)


async def test_ready_tools_by_option_work_at_once(tmp_path: Path) -> None:
    env = environment(tmp_path)
    tools = ("--tools", "calculator", "--tools", "dates", "--tools", "news")
    async with running((VIXIO, "setup", *OFFLINE[:-2], *tools, "--no-wait"), tmp_path, env) as run:
        assert "calculator is on." in await ended(run, 0)
    text = (tmp_path / "vixio.yaml").read_text("utf-8")
    assert "tools:\n  ready:\n  - calculator\n  - dates\n  - news\n" in text
    async with running((VIXIO, "ask", "what is twelve times seven"), tmp_path, env) as run:
        assert "That is 84." in await ended(run, 0)


async def test_options_alone_make_settings_that_serve(tmp_path: Path) -> None:
    env = environment(tmp_path)
    async with running((VIXIO, "setup", *OFFLINE, "--no-wait"), tmp_path, env) as run:
        told = await ended(run, 0)
    settings = load_settings(tmp_path / "vixio.yaml")
    assert (settings.asr.name, settings.tts.name) == ("pocketsphinx", "espeak")
    assert "FAILED" not in told
    for part in ("tts", "vad", "asr", "agent"):
        assert f"\n{part} " in told
    assert ":8003/xiaozhi/ota/\n" in told
    assert "serve" in told.splitlines()[-1]
    assert not (tmp_path / ".env").exists()
    assert files(tmp_path) == {"vixio.yaml"}

    # The same again changes nothing; other answers need a yes, and keep the former file.
    before = (tmp_path / "vixio.yaml").read_bytes()
    async with running((VIXIO, "setup", *OFFLINE, "--no-wait"), tmp_path, env) as run:
        assert "vixio.yaml stays as it is." in await ended(run, 0)
    other = [each if each != "en" else "en-GB" for each in OFFLINE]
    async with running((VIXIO, "setup", *other, "--no-wait"), tmp_path, env) as run:
        assert "+  language: en-GB" in await ended(run, 2)
    assert (tmp_path / "vixio.yaml").read_bytes() == before
    async with running((VIXIO, "setup", *other, "--yes", "--no-wait"), tmp_path, env) as run:
        await ended(run, 0)
    assert load_settings(tmp_path / "vixio.yaml").assistant.language == "en-GB"
    assert (tmp_path / "vixio.yaml.bak").read_bytes() == before


async def test_it_waits_for_the_device_and_goes_on_serving(tmp_path: Path) -> None:
    port, http_port = free_ports(2)
    config = tmp_path / "home" / "my.yaml"
    config.parent.mkdir()
    kept = f"server: {{host: 127.0.0.1, port: {port}, http_port: {http_port}}}  # mine\n"
    config.write_text(f"{kept}memory: {{store: none}}\n", "utf-8")
    command = (VIXIO, "setup", *OFFLINE, "--yes", "--config", str(config))
    async with running(command, tmp_path, environment(tmp_path)) as run:
        ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
        await run.line(ota)
        await run.line("Waiting for your device")
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
            assert device.config.device_id in await run.line("Your device is here: ")
            reply = await device.ask("what time is it")
            assert await run.line("You: ") == "You: what time is it\n"
            answer = (await run.line("Vixio: ")).removeprefix("Vixio: ").rstrip()
            assert answer.startswith("It is ")
            assert reply.text.endswith(answer)  # behind "Let me think.", where it took long
            await run.line("It works.")
            # What is said from here on is nobody's business, and it still serves.
            assert (await device.ask("what can you do")).text
        await run.stop(signal.SIGINT)
        rest = await ended(run, 0)
    assert "what can you do" not in "".join(run.out)
    assert f"serve --config {config}" in rest
    assert "Traceback" not in "".join(run.out + run.err)
    assert config.read_text("utf-8").startswith(kept)


async def test_a_key_that_is_refused_writes_nothing(tmp_path: Path) -> None:
    env = environment(tmp_path)
    key_file = tmp_path / "key"
    async with LLMServer() as server:
        command = (
            *(VIXIO, "setup", "--language", "en", "--ears", "commands", "--voice", "espeak"),
            *("--tools", "none", "--model", server.base_url, "--model-name", "tiny"),
            *("--key-file", str(key_file), "--yes", "--no-wait"),
        )
        server.models = failure(401, "Incorrect API key provided: sk-wrong-key")
        key_file.write_text("sk-wrong-key\n", "utf-8")
        async with running(command, tmp_path, env) as run:
            await ended(run, 2)
        (line,) = [each for each in run.err if each.startswith("vixio: ")]
        assert "refuses the api_key (401)" in line
        assert not (tmp_path / "vixio.yaml").exists()
        assert not (tmp_path / ".env").exists()

        server.models = listing("tiny", "large")
        server.script(text("Hello ", "there."))
        key_file.write_text("sk-right-key\n", "utf-8")
        async with running(command, tmp_path, env) as again:
            told = await ended(again, 0)
        assert "lists 2 models" in told
        assert "tiny answered “Hello there.”" in told
        assert server.keys == ["bearer sk-right-key"]  # as the stand-in keeps it, in lower case
    secrets = tmp_path / ".env"
    assert read_env(secrets) == {"LLM_API_KEY": "sk-right-key"}
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    written = (tmp_path / "vixio.yaml").read_text("utf-8")
    assert "api_key: ${LLM_API_KEY}" in written
    everything = "".join(run.out + run.err + again.out + again.err) + written
    assert "sk-right" not in everything
    assert "sk-wrong" not in everything


async def test_without_a_terminal_it_names_the_options_that_are_missing(tmp_path: Path) -> None:
    env = environment(tmp_path)
    async with running((VIXIO, "setup", "--language", "en"), tmp_path, env) as run:
        assert await ended(run, 2) == ""
    (line,) = run.err
    assert line.startswith("vixio: there is no terminal to ask at: give --ears --model --voice")
    assert not (tmp_path / "vixio.yaml").exists()


async def test_a_person_answers_the_questions(tmp_path: Path) -> None:
    env = environment(tmp_path)
    async with LLMServer() as server:
        server.models = failure(401, "no")
        async with at_terminal(
            VIXIO, "setup", "--no-wait", directory=tmp_path, environment=env
        ) as person:
            person.always = FASTER
            await person.answer("Which language", "1")
            await person.expect("Ctrl-C stops it")
            await person.answer("What shall it understand?", "9")
            await person.expect("a number from 1 to ")
            await person.answer("Choose", person.number("commands only"))
            await person.expect("What thinks up the answers?")
            await person.expect("another server")
            await person.answer("Choose", person.number("another server"))
            await person.answer("Its address", server.base_url)
            await person.answer("The key for", "sk-mistyped")
            await person.expect("refuses the key")
            server.models = listing("tiny", "large")
            server.script(text("Hi!"))
            await person.answer("The key for", "sk-typed-at-last")
            await person.answer("Which model?", "1")
            await person.expect("eSpeak: ")
            await person.answer("Choose", person.number("eSpeak: "))
            await person.answer("Which tools besides", "")
            await person.expect("wrote vixio.yaml")
            await person.answer("Make `vixio` a command", "")
            assert await person.left() == 0
        assert "sk-" not in person.seen
        assert "FAILED" not in person.seen
    link = tmp_path / ".local" / "bin" / "vixio"
    assert link.samefile(VIXIO)
    assert (
        load_settings(tmp_path / "vixio.yaml", read_env(tmp_path / ".env")).agent.name == "openai"
    )

    # A second run proposes what is there, and asks before it overwrites.
    before = (tmp_path / "vixio.yaml").read_bytes()
    arguments = ("--model", "phrasebook", "--no-wait")
    for answer, status in (("n", 1), ("y", 0)):
        async with at_terminal(
            VIXIO, "setup", *arguments, directory=tmp_path, environment=env
        ) as person:
            person.always = FASTER
            for question in ("Which language", "What shall it understand?"):
                await person.answer(question, "")
            for question in ("Which voice?", "Which tools besides"):
                await person.answer(question, "")
            await person.expect("-  model: tiny")
            await person.expect("+  name: phrasebook")
            await person.answer("Write it?", answer)
            assert await person.left() == status
        changed = (tmp_path / "vixio.yaml").read_bytes() != before
        assert changed == (status == 0)
    assert (tmp_path / "vixio.yaml.bak").read_bytes() == before
    assert load_settings(tmp_path / "vixio.yaml").asr.name == "pocketsphinx"


async def test_a_person_goes_back_and_mends_what_does_not_work(tmp_path: Path) -> None:
    async with LLMServer() as server:
        server.models = listing("tiny")
        server.script(*[failure(500, "out of order")] * 8)
        async with at_terminal(
            VIXIO, "setup", "--no-wait", directory=tmp_path, environment=environment(tmp_path)
        ) as person:
            person.always = FASTER
            await person.answer("Which language", "2")
            await person.answer("要听懂什么", "<")
            await person.answer("Which language", "1")
            await person.expect("commands only")
            await person.answer("Choose", person.number("commands only"))
            await person.expect("another server")
            await person.answer("Choose", person.number("another server"))
            await person.answer("Its address", server.base_url)
            await person.answer("The key for", "<")
            await person.expect("another server")
            await person.answer("Choose", person.number("another server"))
            await person.answer("Its address", server.base_url)
            await person.answer("The key for", "sk-typed")
            await person.answer("Which model?", "")
            await person.expect("eSpeak: ")
            await person.answer("Choose", person.number("eSpeak: "))
            assert re.search(r"begin about \d\.\d s after", await person.line("On this machine"))
            await person.answer("Which tools besides", "")
            await person.expect("FAILED")
            await person.expect("write nothing")
            await person.answer("Choose", person.number("change an answer"))
            for question in ("Which tools besides", "Which voice?"):
                await person.answer(question, "<")
            await person.expect("the phrase book")
            await person.answer("Choose", person.number("the phrase book"))
            await person.expect("eSpeak: ")
            await person.answer("Choose", person.number("eSpeak: "))
            await person.answer("Which tools besides", "")
            await person.expect("wrote vixio.yaml")
            await person.answer("Make `vixio` a command", "n")
            assert await person.left() == 0
    assert not (tmp_path / ".local" / "bin").exists()
    settings = load_settings(tmp_path / "vixio.yaml")
    assert (settings.assistant.language, settings.agent.name) == ("en", "phrasebook")
    assert not (tmp_path / ".env").exists()  # the key went with the service


@pytest.mark.parametrize("question", ["Which language", "What thinks up the answers?"])
async def test_ctrl_c_leaves_nothing(tmp_path: Path, question: str) -> None:
    options = ("setup", "--ears", "commands", "--no-wait")
    async with at_terminal(
        VIXIO, *options, directory=tmp_path, environment=environment(tmp_path)
    ) as person:
        person.always = FASTER
        if question != "Which language":
            await person.answer("Which language", "1")
        await person.expect(question)
        await person.expect(": ")
        await person.interrupt()
        assert await person.left() == 130
    assert "stopped; nothing was written" in person.seen
    assert "Traceback" not in person.seen
    assert files(tmp_path) == set()
