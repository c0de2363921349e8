"""An MCP server that does what servers do at their worst, as a process of its own.

``python tests/support/mcp_server.py stdio|sse|streamable-http|noisy|silent|broken [PORT]``
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ResourceLink,
    ToolAnnotations,
)

server = MCPServer("trouble", instructions="For tests.")

SLEEPING: list[float] = []

PNG = bytes.fromhex("89504e470d0a1a0a") + b"pixels"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """Say it back."""
    return text


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def erase(name: str) -> str:
    """Erase something."""
    return f"erased {name}"


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
async def slow(seconds: float) -> str:
    """Take that long."""
    SLEEPING.append(seconds)
    try:
        await asyncio.sleep(seconds)
    finally:
        SLEEPING.remove(seconds)
    return "slept"


@server.tool()
def sleeping() -> int:
    """Tell how many calls of slow are under way."""
    return len(SLEEPING)


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("it cannot be done")


@server.tool()
def crash() -> str:
    """End the process in the middle of the call."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@server.tool()
def huge(characters: int) -> str:
    """Answer at length."""
    return "x" * characters


@server.tool(structured_output=False)
def mixed() -> list[Any]:
    """Answer in several kinds."""
    return ["one", Image(data=PNG, format="png"), "two"]


@server.tool(structured_output=False)
def sound(place: str, mime_type: str, kind: str = "audio") -> list[Any]:
    """Answer with what a file or an address has, as content of a kind."""
    if kind == "link":
        link = ResourceLink(type="resource_link", name="A song", uri=place, mime_type=mime_type)
        return ["Here it is.", link]
    data = b64encode(Path(place).read_bytes()).decode()
    if kind == "audio":
        return ["Here it is.", AudioContent(type="audio", data=data, mime_type=mime_type)]
    blob = BlobResourceContents(uri="sound://it", blob=data, mime_type=mime_type)
    return [EmbeddedResource(type="resource", resource=blob)]


@server.tool()
def weather(city: str) -> dict[str, Any]:
    """Answer with structure."""
    return {"city": city, "degrees": 21}


@server.tool()
def variable(name: str) -> str:
    """Tell an environment variable, and the working directory as CWD."""
    return str(os.getcwd()) if name == "CWD" else os.environ.get(name, "unset")  # noqa: PTH109 - as the process has it


@server.tool()
async def grow(name: str, context: Context) -> str:
    """Add a tool and say so, in the old way and in the new."""

    def grown() -> str:
        """Do what came later."""
        return name

    server.add_tool(grown, name=name)
    await context.session.send_tool_list_changed()
    await context.notify_tools_changed()
    return "grown"


@server.tool()
def complain(lines: int) -> str:
    """Write to standard error."""
    for number in range(lines):
        sys.stderr.write(f"complaint {number}\n")
    sys.stderr.flush()
    return "done"


@server.tool()
def process_id() -> int:
    """Tell the id of the process."""
    return os.getpid()


@server.resource("calendar://today")
def calendar() -> str:
    """Tell the appointments."""
    return "10:00 dentist\n15:30 swimming"


@server.resource("calendar://broken")
def broken_calendar() -> str:
    """Fail."""
    raise ValueError("no calendar")


def main() -> None:
    """Serve as the arguments say."""
    transport, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if transport == "broken":
        raise SystemExit("no licence found")
    if transport == "noisy":  # as programs do that greet their user
        sys.stdout.write('Welcome!\n{"half": \n')
        sys.stdout.flush()
        os.write(1, b"caf\xe9\n")  # in the words of another code page
    if transport in {"stdio", "noisy"}:
        server.run()
    elif transport == "sse":
        server.run("sse", host="127.0.0.1", port=port)
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)


if __name__ == "__main__":
    main()
