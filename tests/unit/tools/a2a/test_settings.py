"""What may stand under ``tools.a2a`` and in ``tools.sources``."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters
from vixio.settings import load_settings
from vixio.tools.a2a.source import A2aSource
from vixio.tools.from_settings import make_runtime

TOKEN = "hunter2"


def sources(tmp_path: Path, text: str) -> list[A2aSource]:
    path = tmp_path / "vixio.yaml"
    path.write_text(text, encoding="utf-8")
    runtime = make_runtime(load_settings(path), Counters())
    return [source for source in runtime.sources if isinstance(source, A2aSource)]


def test_an_agent_in_each_of_its_places(tmp_path: Path) -> None:
    found = sources(
        tmp_path,
        """
tools:
  a2a:
    - url: https://travel.example.org
      token: hunter2
    - {name: home, url: "http://10.0.0.5:9000/agent", allow_private: true, later: false}
    - {url: "http://[::1]:9000", later: true, stream: result}
    - {url: https://off.example.org, enabled: false}
  sources:
    - {type: a2a, name: other, url: https://x.org, headers: {X-Key: hunter2}, later: 3}
""",
    )
    assert [source.name for source in found] == ["travel.example.org", "home", "1-9000", "other"]
    configs = [source.config for source in found]
    assert configs[0].headers == {"Authorization": f"Bearer {TOKEN}"}
    assert [config.later for config in configs] == [10.0, 0.0, 10.0, 3.0]
    assert [config.stream for config in configs] == ["say", "say", "result", "say"]
    places = [config.place for config in configs]
    assert places == ["tools.a2a[0]", "tools.a2a[1]", "tools.a2a[2]", "tools.sources[0]"]
    assert TOKEN not in repr(configs)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{}", "tools.a2a[0].url"),
        ("{url: agent.example.org}", "expected url to begin with http:// or https:// and a host"),
        ('{url: "https://user:hunter2@x.org"}', "expected url without a user or password"),
        ("{url: https://x.org, later: -1}", "tools.a2a[0].later"),
        ("{url: https://x.org, stream: sing}", "tools.a2a[0].stream"),
        ("{url: https://x.org, tokn: hunter2}", "tools.a2a[0].tokn"),
        ('{url: https://x.org, token: "hunter2\\n"}', "expected token of ASCII characters"),
        ("{url: https://x.org, name: device}", "tools.a2a[0].name"),
        ("{url: http://client}", "tools.a2a[0]: expected a name"),
        (
            "{url: https://x.org, token: hunter2, headers: {authorization: x}}",
            "expected either token or a header Authorization",
        ),
    ],
)
def test_a_mistake_is_one_line_without_secrets(tmp_path: Path, entry: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sources(tmp_path, f"tools:\n  a2a: [{entry}]\n")
    assert words in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_two_agents_of_one_host_need_names(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"are both named x\.org: change one"):
        sources(tmp_path, "tools:\n  a2a: [{url: https://x.org/a}, {url: https://x.org/b}]\n")
