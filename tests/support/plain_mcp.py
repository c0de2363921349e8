"""An MCP server over standard input and output without the SDK, which takes a second to import.

For tests of the process rather than of the protocol: ``python tests/support/plain_mcp.py``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

TOOLS = {
    "echo": {"text": {"type": "string"}},
    "erase": {"name": {"type": "string"}},
    "fail": {},
    "slow": {},
    "crash": {},
    "variable": {"name": {"type": "string"}},
    "complain": {"lines": {"type": "integer"}},
    "process_id": {},
    "write": {"json": {"type": "string"}, "times": {"type": "integer"}},
}
"""By name, the parameters, all of which are required."""


def called(name: str, given: dict[str, Any]) -> str:
    """Do what the tool is there for; return its answer."""
    if name == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "variable" and given["name"] == "CWD":
        return os.getcwd()  # noqa: PTH109 - as the process has it
    if name == "variable":
        return os.environ.get(given["name"], "unset")
    if name == "complain":
        sys.stderr.write("".join(f"complaint {number}\n" for number in range(given["lines"])))
        sys.stderr.flush()
    return str(os.getpid()) if name == "process_id" else str(given)


def result_of(method: str, asked: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request; None if it gets no answer."""
    if method == "initialize":
        return {
            "protocolVersion": asked["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1"},
        }
    if method == "tools/list":
        return {
            "tools": [
                {
                    "name": name,
                    "description": f"Do {name}.",
                    "inputSchema": {
                        "type": "object",
                        "properties": parameters,
                        "required": list(parameters),
                    },
                }
                for name, parameters in TOOLS.items()
            ]
        }
    if method != "tools/call":
        return {}
    name, given = asked["name"], asked.get("arguments") or {}
    if name == "slow":
        return None
    if name == "fail" or name not in TOOLS or TOOLS[name].keys() - given.keys():
        return {"content": [{"type": "text", "text": "it cannot be done"}], "isError": True}
    if name == "write":
        return written(json.loads(given["json"]), given["times"])
    return {"content": [{"type": "text", "text": called(name, given)}], "isError": False}


def written(value: Any, times: int) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return any value as a result, in all places that a result has; texts so many times."""
    if isinstance(value, str):
        value *= times
    text = value if isinstance(value, str) else json.dumps(value)
    return {
        "content": [
            {"type": "text", "text": text},
            {"type": "resource", "resource": {"uri": "file:///x", "text": text}},
        ],
        "structuredContent": {"value": value},
        "isError": times == 0,
    }


def main() -> None:
    """Serve until standard input ends."""
    for raw in sys.stdin.buffer:
        request = json.loads(raw)
        number, method = request.get("id"), request.get("method")
        if number is None or method is None:
            continue
        result = result_of(method, request.get("params") or {})
        if result is not None:
            answer = {"jsonrpc": "2.0", "id": number, "result": result}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
