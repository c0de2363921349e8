"""The section ``mcp_servers``: the form of desktop clients, and mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters
from vixio.settings import load_settings
from vixio.tools.from_settings import make_runtime
from vixio.tools.mcp.config import McpServerConfig
from vixio.tools.mcp.source import McpSource


def servers(directory: Path, text: str, **environment: str) -> dict[str, McpServerConfig]:
    path = directory / "vixio.yaml"
    path.write_text(text, encoding="utf-8")
    runtime = make_runtime(load_settings(path, environment), Counters())
    found = (source for source in runtime.sources if isinstance(source, McpSource))
    return {source.name: source.config for source in found}


def test_the_shape_of_desktop_clients(tmp_path: Path) -> None:
    found = servers(
        tmp_path,
        """
mcp_servers:
  files: {command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", /srv]}
  home:
    url: http://home.local:8123/api/mcp
    headers: {Authorization: "Bearer ${TOKEN}"}
    deny: ["*delete*"]
    confirm: always
    timeout: 5
  old: {type: sse, url: "http://old.local/events"}
  older: {url: "http://old.local/sse"}
  newer: {type: http, url: "https://new.local/mcp"}
  off: {command: nothing, disabled: true}
""",
        TOKEN="t0ps3cret",
    )
    assert list(found) == ["files", "home", "old", "older", "newer"]
    assert {name: config.transport for name, config in found.items()} == {
        "files": "stdio",
        "home": "streamable_http",
        "old": "sse",
        "older": "sse",
        "newer": "streamable_http",
    }
    assert found["files"].args[-1] == "/srv"
    home = found["home"]
    assert home.headers == {"Authorization": "Bearer t0ps3cret"}
    assert (home.deny, home.confirm, home.timeout) == (("*delete*",), "always", 5.0)
    assert "t0ps3cret" not in repr(home)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {}", "expected either command (a program to start) or url"),
        ("a: {command: x, url: 'http://x'}", "expected either command"),
        ("a: {url: 'ftp://x'}", "expected a url such as http://192.168.1.5:8123/mcp"),
        ("a: {url: 'http://x', transport: stdio}", "transport stdio does not fit"),
        ("device: {command: x}", "other than broker, builtin, client, confirm, device, local"),
        ("'a b': {command: x}", "expected a name of letters"),
        ("a: {comand: x}", "did you mean 'command'?"),
        ("a: {command: x, timeout: 0}", "mcp_servers.a.timeout"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        servers(tmp_path, f"mcp_servers:\n  {text}\n")
    assert message in str(caught.value)
    assert "mcp_servers" in str(caught.value)
    assert "\n" not in str(caught.value)
