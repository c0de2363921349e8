"""Whole turns of the real agent with the tool runtime, against a stand-in model."""

import asyncio

from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.model_turns import error, made, outputs
from tests.support.tool_turns import FakeDevice, returned, spoken
from vixio.core.chunk import Chunk, Farewell, Notice, Sentence, ToolCalled, ToolReturned
from vixio.core.device import DeviceProfile, ToolAccess
from vixio.core.errors import ToolError
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.policy import ToolPolicy
from vixio.core.tools.runtime import RuntimeSettings, ToolRuntime
from vixio.core.tools.source import ToolSource
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.core.tools.types import ToolCallResult, ToolDefinition, ToolOptions
from vixio.providers.openai_agent.backend import OpenAIAgentBackend
from vixio.tools import ToolContext
from vixio.tools.builtin import builtin_source

QUICK = ToolOptions(timeout=0.05)
AGAIN = ToolOptions(retries=2, idempotent=True, backoff=0.0)
VOLUME = {
    "type": "object",
    "properties": {"volume": {"type": "integer", "minimum": 0, "maximum": 100}},
    "required": ["volume"],
}


class Shelf(ToolSource):
    """A source whose tools the test changes."""

    def __init__(self, *tools: ToolDefinition) -> None:
        super().__init__("shelf")
        self._tools = tools

    def tools(self) -> tuple[ToolDefinition, ...]:
        return self._tools

    def put(self, *tools: ToolDefinition) -> None:
        self._tools = tools
        self.changed()


def listed(server: LLMServer, request: int = -1) -> set[str]:
    return {tool["function"]["name"] for tool in server.requests[request].get("tools", [])}


async def test_the_model_reads_the_complaint_and_corrects_itself(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    device = FakeDevice()
    async with made(ToolRuntime(), backend) as talk:
        talk.tools.toolset.replace(DEVICE_SOURCE, [device.tool("self.set_volume", VOLUME)])
        server.script(
            calls(Call("1", "self_set_volume", '{"volume": "loud"}')),
            calls(Call("2", "self_set_volume", '{"volume": 30}')),
            text("Done."),
        )
        chunks = await talk.turn("set the volume to thirty")
        complaint = error(outputs(server, 1)[-1])
        assert complaint["type"] == "invalid_arguments"
        assert complaint["retryable"] is True
        assert "volume: 'loud'" in complaint["message"]
        assert device.asked == [("self.set_volume", {"volume": 30})]
        assert spoken(chunks) == ["Done."]
        count = talk.context.counters.get
        assert (count("tool.device.calls"), count("tool.device.failed")) == (2, 1)
        assert count("tool.device.invalid_arguments") == 1


async def test_whatever_fails_never_ends_the_turn(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    async def hang() -> None:
        """Take for ever."""
        await asyncio.Event().wait()

    async def crash() -> None:
        """Break."""
        raise RuntimeError("broken")

    shelf = Shelf(func_to_tool_definition(hang, options=QUICK), func_to_tool_definition(crash))
    async with made(ToolRuntime([shelf]), backend) as talk:
        server.script(
            calls(Call("1", "hang", "{}"), Call("2", "crash", "{}"), Call("3", "nothing", "{}")),
            text("Two things failed."),
        )
        chunks = await talk.turn("do it all")
        told = {error(output)["type"] for output in outputs(server)}
        assert told == {"timeout", "failed", "not_found"}
        assert [result.success for result in returned(chunks)] == [False] * 3
        assert spoken(chunks) == ["Two things failed."]


async def test_an_idempotent_tool_is_tried_again(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    tries = 0

    async def flaky() -> str:
        """Work at the third time."""
        nonlocal tries
        tries += 1
        if tries < 3:
            raise ToolError("failed", "not yet", retryable=True)
        return "worked"

    shelf = Shelf(func_to_tool_definition(flaky, options=AGAIN))
    async with made(ToolRuntime([shelf]), backend) as talk:
        server.script(calls(Call("1", "flaky", "{}")), text("It worked."))
        await talk.turn("try it")
        assert outputs(server) == ["worked"]
        assert talk.context.counters.get("tool.shelf.retries") == 2
        assert talk.context.counters.get("tool.shelf.failed") == 0


async def test_calls_of_one_round_run_at_the_same_time(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    together = asyncio.Barrier(3)

    async def meet(number: int) -> str:
        """Wait for the others."""
        await together.wait()
        return str(number)

    shelf = Shelf(func_to_tool_definition(meet))
    async with made(ToolRuntime([shelf]), backend) as talk:
        three = [Call(f"c{number}", "meet", f'{{"number": {number}}}') for number in range(3)]
        server.script(calls(*three), text("All met."))
        await talk.turn("meet")
        assert outputs(server) == ["0", "1", "2"]


async def test_a_limited_tool_runs_one_call_at_a_time(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    running, most = 0, 0

    async def alone() -> str:
        """Be alone."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "ok"

    shelf = Shelf(func_to_tool_definition(alone, options=ToolOptions(concurrency=1)))
    async with made(ToolRuntime([shelf]), backend) as talk:
        server.script(calls(*(Call(f"c{n}", "alone", "{}") for n in range(4))), text("Done."))
        await talk.turn("go")
        assert outputs(server) == ["ok"] * 4
        assert most == 1


async def test_tools_are_swapped_inside_a_running_turn(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    async def second() -> str:
        """Come later."""
        return "second"

    async def first() -> str:
        """Make place for the second."""
        shelf.put(func_to_tool_definition(second))
        return "first"

    shelf = Shelf(func_to_tool_definition(first))
    async with made(ToolRuntime([shelf]), backend) as talk:
        server.script(
            calls(Call("1", "first", "{}")), calls(Call("2", "second", "{}")), text("Both.")
        )
        await talk.turn("swap")
        assert (listed(server, 0), listed(server, 1)) == ({"first"}, {"second"})
        assert outputs(server) == ["first", "second"]


async def test_what_a_tool_says_comes_in_the_order_of_the_reply(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    heard = asyncio.Event()

    async def search(what: str, context: ToolContext) -> str:
        """Look something up."""
        context.say(f"I am looking for {what}")
        context.show("searching…")
        await asyncio.to_thread(context.say, "This takes a moment.")
        await asyncio.wait_for(heard.wait(), 30)
        return "found"

    async with made(ToolRuntime([Shelf(func_to_tool_definition(search))]), backend) as talk:
        assert "context" not in talk.tools.toolset.definitions()[0].parameters["properties"]
        server.script(
            calls(Call("1", "search", '{"what": "cats"}'), saying="Let me see. "), text("Found it.")
        )

        def seen(chunk: Chunk) -> None:
            if isinstance(chunk, Sentence) and chunk.spoken == "This takes a moment.":
                heard.set()  # the tool waits for it: it is spoken while the tool runs

        said = await talk.turn("find cats", seen=seen)
        kinds = [
            chunk.spoken if isinstance(chunk, Sentence) else type(chunk)
            for chunk in said
            if isinstance(chunk, Sentence | ToolCalled | ToolReturned | Notice)
        ]
        assert kinds == [
            "Let me see.",
            ToolCalled,
            "I am looking for cats",
            Notice,
            "This takes a moment.",
            ToolReturned,
            "Found it.",
        ]
        server.script(text("Yes."))
        await talk.turn("really?")  # the history with the tool's words is accepted
        messages = server.requests[-1]["messages"]
        place = [message["role"] for message in messages].index("tool")
        assert messages[place - 1]["tool_calls"]
        assert "I am looking for cats" in str(messages[place + 1]["content"])


async def test_device_a_never_calls_the_tools_of_device_b(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    runtime = ToolRuntime()
    one, two = FakeDevice("one"), FakeDevice("two")
    async with made(runtime, backend, "one") as first, made(runtime, backend, "two") as second:
        first.tools.toolset.replace(DEVICE_SOURCE, [one.tool("self.lamp"), one.tool("self.one")])
        second.tools.toolset.replace(DEVICE_SOURCE, [two.tool("self.lamp")])
        for talk in (first, second):
            server.script(calls(Call("1", "self_lamp", "{}")), text("Done."))
            await talk.turn("lamp")
        server.script(calls(Call("2", "self_one", "{}")), text("No."))
        await second.turn("one")
        assert one.asked == [("self.lamp", {})]
        assert two.asked == [("self.lamp", {})]
        assert error(outputs(server)[-1])["type"] == "not_found"


async def test_what_is_denied_is_neither_shown_nor_run(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    device = FakeDevice()
    policy = ToolPolicy(ToolAccess(deny=("self.reboot",)))
    guests = DeviceProfile(tools=ToolAccess(deny=("device/self.door.*",)))
    runtime = ToolRuntime(settings=RuntimeSettings(policy=policy))
    tools = [device.tool(name) for name in ("self.reboot", "self.door.open", "self.lamp")]
    async with (
        made(runtime, backend, "guest", guests) as guest,
        made(runtime, backend, "home") as home,
    ):
        for talk in (guest, home):
            talk.tools.toolset.replace(DEVICE_SOURCE, tools)
            server.script(text("Hello."))
            await talk.turn("hello")
        assert listed(server, 0) == {"self_lamp"}
        assert listed(server, 1) == {"self_lamp", "self_door_open"}
        turn = guest.tools.begin_turn(9, "en")
        refused = await turn.run(tools[1], "{}")
        assert refused.error_type == "denied"
        assert device.asked == []


async def test_the_volume_is_changed_through_the_sessions_own_device(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    device = FakeDevice()
    device.answers["self.get_device_status"] = '{"audio_speaker": {"volume": 95}}'
    async with made(ToolRuntime([builtin_source()]), backend) as talk:
        server.script(text("Hi."))
        await talk.turn("hi")
        assert "change_volume" not in listed(server)
        tools = [
            device.tool("self.get_device_status"),
            device.tool("self.audio_speaker.set_volume", VOLUME),
        ]
        talk.tools.toolset.replace(DEVICE_SOURCE, tools)
        server.script(calls(Call("1", "change_volume", '{"change": "louder"}')), text("Louder."))
        await talk.turn("louder")
        assert device.asked[-1] == ("self.audio_speaker.set_volume", {"volume": 100})


async def test_the_end_of_the_conversation_is_announced_once_it_was_called(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    async with made(ToolRuntime([builtin_source()]), backend) as talk:
        server.script(calls(Call("1", "end_conversation", "{}")), text("Bye."))
        chunks = await talk.turn("goodbye")
        assert any(isinstance(chunk, Farewell) for chunk in chunks)
        assert spoken(chunks) == ["Bye."]


async def test_running_text_of_a_tool_is_spoken_by_sentences(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    heard = asyncio.Event()

    async def forecast(context: ToolContext) -> ToolCallResult:
        """Tell the weather."""
        said = ["It ", "is rai", "ning now, and it will stay so. ", "Take ", "a coat with you"]
        for piece in said[:3]:
            context.stream(piece)
        await asyncio.wait_for(heard.wait(), 30)
        await asyncio.to_thread(context.stream, said[3])
        context.stream(said[4])
        return ToolCallResult("", success=True, result="".join(said), spoken=True)

    async with made(ToolRuntime([Shelf(func_to_tool_definition(forecast))]), backend) as talk:
        server.script(calls(Call("1", "forecast", "{}")), text("Anything else?"))

        def seen(chunk: Chunk) -> None:
            if isinstance(chunk, Sentence):
                heard.set()  # the first sentence is spoken while the tool still runs

        said = await talk.turn("weather", seen=seen)
        whole = " ".join(spoken(said))
        expected = "It is raining now, and it will stay so. Take a coat with you Anything else?"
        assert whole == expected
        assert spoken(said)[-2:] == ["Take a coat with you", "Anything else?"]
        (output,) = outputs(server)
        assert output.startswith("[already spoken to the user] It is raining")
        server.script(text("Yes."))
        await talk.turn("really?")
        assert "a coat with you" in str(server.requests[-1]["messages"])
