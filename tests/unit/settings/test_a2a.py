"""The section ``a2a``: what is refused, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.core.errors import ConfigError
from vixio.server import Server
from vixio.settings import Settings, load_settings
from vixio.web.a2a import mount

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{}", "a2a.tokens"),
        ("{tokens: {}}", "a2a.tokens"),
        ("{tokens: {alice: short}}", "a2a.tokens.alice: expected at least 16 characters"),
        (f"{{tokens: {{alice: '{TOKEN} {TOKEN}'}}}}", "a2a.tokens.alice: expected at least"),
        (f"{{tokens: {{alice: {TOKEN}x, bob: {TOKEN}x}}}}", "a2a.tokens.bob: alice has the same"),
        (f"{{tokens: {{Alice: {TOKEN}x}}}}", "expected names of callers in lower case"),
        (f"{{tokens: {{a/b: {TOKEN}x}}}}", "expected names of callers in lower case"),
        ("{loopback_without_token: false}", "a2a.tokens: expected the token of at least one"),
        (
            f"{{tokens: {{loopback: {TOKEN}x}}, loopback_without_token: true}}",
            "a2a.tokens.loopback: expected another name",
        ),
        (f"{{tokens: {{a: {TOKEN}x}}, public_url: x}}", "a2a.public_url: expected a URL"),
        (f"{{tokens: {{a: {TOKEN}x}}, devices: {{alow: []}}}}", "did you mean 'allow'"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, section: str, message: str) -> None:
    path = tmp_path / "vixio.yaml"
    path.write_text(f"a2a: {section}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_tokens_are_needed_unless_programs_of_this_machine_do_without() -> None:
    section = Settings.model_validate({"a2a": {"loopback_without_token": True}}).a2a
    assert section is not None
    assert section.tokens == {}


def test_a_missing_library_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mount, "NEEDS", ("a2a", "a_module_that_is_not_installed"))
    settings = Settings.model_validate(
        {"a2a": {"tokens": {"alice": TOKEN}}, "memory": {"store": "none"}}
    )
    with pytest.raises(ConfigError, match=r"extra NAME=a2a"):
        Server(settings)
