"""``vixio ask`` and ``vixio chat``: the answer on standard output, all else on standard error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.session.conversation import on_virtual_time
from vixio.cli.chat import Chat
from vixio.cli.commands import main
from vixio.core.errors import ProviderError
from vixio.core.history import History
from vixio.core.session.conversation import Conversation
from vixio.core.tools.runtime import ToolRuntime
from vixio.testing import ScriptedAgent
from vixio.testing.providers import Step, ToolUse
from vixio.tools.builtin import builtin_source


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIXIO_CONFIG", raising=False)
    monkeypatch.setattr("vixio.telemetry.logging.setup.configure_logging", lambda *_: None)


def test_a_question_is_answered() -> None:
    done = CliRunner().invoke(main, ["ask", "what time is it"])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("It is ")
    assert "\n  get_time {}\n  → " in done.stderr


def test_a_conversation_is_remembered_and_ends_with_the_goodbye() -> None:
    runner = CliRunner()
    done = runner.invoke(main, ["chat", "--as", "Desk"], input="hello\n\ngoodbye\nwho are you\n")
    assert done.exit_code == 0, done.output
    hello, goodbye = done.stdout.splitlines()
    assert hello.startswith("Hello")
    assert goodbye.startswith("Goodbye")
    memory = runner.invoke(main, ["memory", "desk"])
    assert "hello" in memory.stdout
    assert "goodbye" in memory.stdout


def test_an_agent_that_cannot_be_used_is_one_line() -> None:
    Path("vixio.yaml").write_text("agent: {name: openai, base_url: 'http://127.0.0.1:9/v1'}\n")
    done = CliRunner().invoke(main, ["ask", "hello"])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith("vixio: openai: ")


def conversation(script: Callable[[str], Sequence[Step]]) -> Conversation:
    tools = ToolRuntime([builtin_source()]).open("terminal", "s")
    return Conversation("terminal", ScriptedAgent(script), History(), tools, session_id="s")


def lines(*given: str | None) -> asyncio.Queue[str | None]:
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    for line in given:
        queue.put_nowait(line)
    return queue


def test_a_failure_is_one_line_and_the_conversation_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @on_virtual_time
    async def talk() -> None:
        script: dict[str, Sequence[Step]] = {
            "bad": ["So ", ProviderError("scripted", "no\nmore")],
            "good": ["Fine."],
        }
        async with conversation(lambda text: script[text]) as talking:
            await Chat(talking).run(lines("bad", "good", None))

    talk()
    captured = capsys.readouterr()
    assert captured.out == "So \nFine.\n"
    assert captured.err == "vixio: scripted: no more\n"


def test_an_interruption_stops_the_answer_and_at_the_prompt_the_conversation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @on_virtual_time
    async def talk() -> None:
        async with conversation(lambda text: ["Once ", 60.0, "upon a time."]) as talking:
            chat = Chat(talking)
            running = asyncio.create_task(chat.run(lines("tell me a story")))
            await asyncio.sleep(1.0)
            chat.interrupt()
            await asyncio.sleep(1.0)
            assert not running.done()
            chat.interrupt()
            await running
            assert [getattr(item, "text", "") for item in talking.history.items()] == [
                "tell me a story",
                "Once ",
            ]

    talk()
    captured = capsys.readouterr()
    assert captured.out == "Once \n"
    assert captured.err == "  (interrupted)\n"


def test_a_long_answer_of_a_tool_is_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    @on_virtual_time
    async def talk() -> None:
        steps = [ToolUse("remember_fact", {"fact": "x" * 150}), ToolUse("recall_facts", {})]
        async with conversation(lambda text: [steps[0], *3 * steps[1:], "Done."]) as talking:
            await Chat(talking).run(lines("go", None))

    talk()
    shown = capsys.readouterr().err.splitlines()
    assert all(len(line) < 250 for line in shown)
    assert shown[1] == '  → {"remembered": "' + "x" * 150 + '"}'
