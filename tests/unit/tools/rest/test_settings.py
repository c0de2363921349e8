"""REST tools in the settings, and mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters
from vixio.core.tools.runtime import ToolRuntime
from vixio.settings import load_settings
from vixio.tools.from_settings import make_runtime


def runtime(directory: Path, text: str, **environment: str) -> ToolRuntime:
    path = directory / "vixio.yaml"
    path.write_text(text, encoding="utf-8")
    return make_runtime(load_settings(path, environment), Counters())


def test_every_key_reaches_the_tool(tmp_path: Path) -> None:
    made = runtime(
        tmp_path,
        """
tools:
  rest:
    - name: weather
      description: Tell the weather.
      url: https://api.example.org/v1/{city}
      parameters: {city: {type: string}, days: {type: integer, default: 1}}
      headers: {X-Key: "${KEY}"}
      constants: {units: metric}
      result: "daily[].high"
      timeout: 4
    - name: order
      description: Order something.
      method: POST
      url: https://shop.example.org/orders
      parameters:
        type: object
        properties: {what: {type: string}, dry: {type: boolean}}
      query: [dry]
      confirm: true
  openapi:
    lamps: {document: lamps.yaml, operations: [getLamp, setLamp], allow_private: true}
    doors: {document: doors.yaml, operations: {open: {confirm: true}, close: }}
""",
        KEY="s3cret",
    )
    sources = {source.name: source for source in made.sources}
    assert {"rest", "lamps", "doors"} <= set(sources)
    weather, order = sources["rest"].tools()
    assert weather.parameters == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
        "required": ["city"],
        "additionalProperties": False,
    }
    assert (weather.options.timeout, weather.options.retries) == (4.0, 1)
    assert (order.options.confirm, order.options.idempotent, order.options.retries) == (
        True,
        False,
        0,
    )
    assert "s3cret" not in repr(weather)


TOOL = "tools:\n  rest:\n    - {name: a, description: A., url: 'http://h/x'%s}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TOOL % ", parameters: {x: 3}", "expected parameters to be a JSON Schema of an object"),
        (TOOL % ", metod: GET", "did you mean 'method'?"),
        (TOOL % ", method: TRACE", "method"),
        (TOOL % ", result: 'a['", "tools.rest: a: result: not a JMESPath expression"),
        (TOOL % ", query: [y]", "tools.rest: a: query: there is no parameter 'y'"),
        ("tools:\n  openapi:\n    a: {document: x, operations: []}", "tools.openapi.a.operations"),
        ("tools:\n  openapi:\n    a: {operations: [x]}", "tools.openapi.a"),
        (
            "{mcp_servers: {a: {command: x}},tools: {openapi: {a: {document: d,operations: [z]}}}}",
            "mcp_servers.a and tools.openapi.a are both named a: change one",
        ),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        runtime(tmp_path, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
