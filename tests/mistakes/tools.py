"""Mistakes in tool sources: MCP servers, REST, brokers, A2A agents, Python files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from tests.mistakes.around import nobody, service
from tests.mistakes.kit import ANY_PORTS, Mistake

_REFUSED = service(401, "invalid token")


def _python() -> AbstractContextManager[Mapping[str, str]]:
    return nullcontext({"PYTHON": sys.executable})


TOOLS = (
    Mistake(
        name="an MCP program that is not installed",
        story="Copies an MCP server from a page, without Node.js.",
        settings=ANY_PORTS
        + (
            "mcp_servers:\n  files:\n    command: npx\n"
            '    args: ["-y", "@modelcontextprotocol/server-filesystem", "/home"]\n'
        ),
        environment={"PATH": "/nothing/here"},
    ),
    Mistake(
        name="another MCP program that is not installed",
        story="Copies an MCP server from a page, without uv.",
        settings=ANY_PORTS
        + "mcp_servers:\n  time:\n    command: uvx\n    args: [mcp-server-time]\n",
        environment={"PATH": "/nothing/here"},
    ),
    Mistake(
        name="an MCP program by a wrong path",
        story="Mistypes the path of an own MCP server.",
        settings=ANY_PORTS + "mcp_servers:\n  mine:\n    command: ./servers/mine\n",
    ),
    Mistake(
        name="an MCP program with its arguments in one line",
        story="Writes program and arguments as in a terminal.",
        settings=ANY_PORTS + "mcp_servers:\n  mine:\n    command: python3 -m my_server\n",
    ),
    Mistake(
        name="an MCP program that ends",
        story="Starts an MCP server whose package is missing.",
        settings=ANY_PORTS
        + ("mcp_servers:\n  mine:\n    command: <PYTHON>\n    args: [-m, no_such_server]\n"),
        around=_python,
    ),
    Mistake(
        name="an MCP program that is not executable",
        story="Forgets chmod +x.",
        settings=ANY_PORTS + "mcp_servers:\n  mine:\n    command: ./mine.py\n",
        files={"mine.py": "print('hello')\n"},
    ),
    Mistake(
        name="an MCP address that is refused",
        story="Forgets to start an MCP server.",
        settings=ANY_PORTS + "mcp_servers:\n  home:\n    url: http://127.0.0.1:<PORT>/mcp\n",
        around=nobody,
    ),
    Mistake(
        name="an MCP address that wants a key",
        story="Leaves the token of an MCP server out.",
        settings=ANY_PORTS + "mcp_servers:\n  home:\n    url: http://127.0.0.1:<PORT>/mcp\n",
        around=_REFUSED,
    ),
    Mistake(
        name="an MCP address without its scheme",
        story="Leaves the http:// of an MCP server out.",
        settings="mcp_servers:\n  home:\n    url: 192.168.1.5:8123/mcp\n",
    ),
    Mistake(
        name="an MCP server with command and url",
        story="Gives both ways to reach an MCP server.",
        settings="mcp_servers:\n  home:\n    command: npx\n    url: http://127.0.0.1:1/mcp\n",
    ),
    Mistake(
        name="MCP servers as a list",
        story="Writes the MCP servers as a list.",
        settings="mcp_servers:\n  - name: time\n    command: uvx\n",
    ),
    Mistake(
        name="MCP arguments as a text",
        story="Writes the arguments as one text.",
        settings="mcp_servers:\n  time:\n    command: uvx\n    args: mcp-server-time --local\n",
    ),
    Mistake(
        name="an MCP server without its name",
        story="Forgets the name of an MCP server.",
        settings="mcp_servers:\n  command: uvx\n  args: [mcp-server-time]\n",
    ),
    Mistake(
        name="an OpenAPI address without its scheme",
        story="Leaves the https:// of an address out.",
        settings=(
            "tools:\n  openapi:\n    weather:\n      document: weather.json\n"
            "      operations: [now]\n      base_url: api.weather.example\n"
        ),
    ),
    Mistake(
        name="an OpenAPI document that is not there",
        story="Mistypes the path of an OpenAPI document.",
        settings=ANY_PORTS
        + (
            "tools:\n  openapi:\n    weather:\n      document: wether.json\n"
            "      operations: [now]\n"
        ),
    ),
    Mistake(
        name="a REST tool without its description",
        story="Leaves the description of a REST tool out.",
        settings="tools:\n  rest:\n    - name: lights\n      url: http://192.168.1.5/lights\n",
    ),
    Mistake(
        name="a REST tool without its scheme",
        story="Leaves the http:// of a REST tool out.",
        settings=ANY_PORTS
        + (
            "tools:\n  rest:\n    - name: lights\n      description: Switches the lights.\n"
            "      url: 192.168.1.5/lights\n"
        ),
    ),
    Mistake(
        name="a ready tool that does not exist",
        story="Mistypes the name of a ready tool.",
        settings="tools:\n  ready: [news, wether]\n",
    ),
    Mistake(
        name="one ready tool without a list",
        story="Writes the name of a ready tool where a list belongs.",
        settings="tools:\n  ready: weather\n",
    ),
    Mistake(
        name="web search without a key",
        story="Switches web search on, and has no key.",
        settings=ANY_PORTS + "tools:\n  ready: [search]\n",
    ),
    Mistake(
        name="a broker by http",
        story="Gives the address of a broker's web page.",
        settings="tools:\n  broker:\n    url: http://192.168.1.5:8222\n",
    ),
    Mistake(
        name="a broker prefix with a wildcard",
        story="Ends the prefix of the announcements with a wildcard.",
        settings=(
            "tools:\n  broker:\n    url: nats://192.168.1.5\n"
            '    discover:\n      prefix: "tools.*"\n'
        ),
    ),
    Mistake(
        name="a module that is not there",
        story="Mistypes the module of an own tool.",
        settings=ANY_PORTS + "tools:\n  modules: [my_tols]\n",
    ),
    Mistake(
        name="a tool folder that is not there",
        story="Mistypes the folder of own tools.",
        settings=ANY_PORTS + "tools:\n  folder: my-tools\n",
    ),
    Mistake(
        name="a tool file with an error",
        story="Forgets a colon in a tool's Python file.",
        settings=ANY_PORTS + "tools:\n  folder: my-tools\n",
        files={"my-tools/lights.py": "def lights(on: bool) -> str\n    return 'done'\n"},
    ),
    Mistake(
        name="a builtin tool that does not exist",
        story="Names a builtin tool of another server.",
        settings=ANY_PORTS + "tools:\n  builtin: [get_time, get_weather]\n",
    ),
    Mistake(
        name="an A2A agent that does not run",
        story="Forgets to start an A2A agent.",
        settings=ANY_PORTS
        + "tools:\n  a2a:\n    - url: http://127.0.0.1:<PORT>\n      name: planner\n",
        around=nobody,
    ),
    Mistake(
        name="A2A with a short token",
        story="Lets another agent in by a short token.",
        settings="a2a:\n  tokens:\n    planner: secret\n",
    ),
    Mistake(
        name="A2A without tokens",
        story="Turns A2A on and names no caller.",
        settings="a2a:\n  name: Kitchen\n",
    ),
    Mistake(
        name="A2A with a path in its address",
        story="Gives the public address of A2A with a path.",
        settings=(
            "a2a:\n  tokens:\n    planner: 0123456789abcdef\n"
            "  public_url: https://voice.example/a2a\n"
        ),
    ),
    Mistake(
        name="a tool source of an unknown type",
        story="Misspells the type of a tool source.",
        settings="tools:\n  sources:\n    - type: mpc\n      command: uvx\n",
    ),
)
