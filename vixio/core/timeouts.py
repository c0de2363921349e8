"""The time limits of a conversation: one set, which all parts take theirs from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. What takes longer ends the turn with an apology, unless the field says otherwise."""

    hello: float = 10.0
    """For a device's hello; the firmware gives up after 10 s. The connection is closed."""
    turn: float = 60.0
    """For the making of one reply: what the user waits for it in silence, in all. While something
    of it is played does not count."""
    vad: float = 2.0
    """For the detector's answer to a piece of audio."""
    asr: float = 15.0
    """For the words after the end of speech."""
    asr_feed: float = 5.0
    """For a piece of audio to be taken by the recogniser."""
    agent_first: float = 20.0
    """For the agent's first event, from the commit of the turn on. What a tool says or shows counts
    as an event; time that the reader of the reply takes does not count."""
    agent_next: float = 45.0
    """For each later event of the agent."""
    tts: float = 10.0
    """For a sentence's first audio, and for each further piece."""
    apology: float = 8.0
    """For saying that something failed; after that it is shown."""
    vision: float = 25.0
    """For the words about a photo; a device waits for them within its tool call."""
    device_tool: float = 30.0
    """For a device's answer to one tool call. The model gets an error."""
    tool_list: float = 2.0
    """For the tools of a device that has just connected, from the end of a turn on. The turn goes
    on without them."""
    drain: float = 10.0
    """For devices that speak to finish when the process gets SIGTERM; then they are cut."""
    tool_start: float = 10.0
    """For a tool source to start. The server is ready without it; its tools come when it has."""
    tool_close: float = 8.0
    """For a tool source to close. An MCP server's process that ignores every request to end is
    killed within 7 s."""
