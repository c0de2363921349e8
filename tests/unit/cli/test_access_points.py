"""`vixio access-points`, with a registry in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from vixio.cli.commands import main

KITCHEN = "02:00:00:00:00:01"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = f"data: {{folder: {tmp_path / 'data'}}}\nserver: {{host: 127.0.0.1}}\n"
    (tmp_path / "vixio.yaml").write_text(lines, encoding="utf-8")


def vixio(*arguments: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == status, result.output
    return result.output


def test_of_a_profile_and_of_a_device() -> None:
    assert "there are none" in vixio("access-points")
    vixio("profiles", "set", "child", "language=en")
    vixio("devices", "add", KITCHEN, "--name", "Kitchen")
    made = vixio("access-points", "create", "--profile", "child")
    assert "ws://127.0.0.1:8003/mcp/?token=vixio_mcp_" in made
    assert "█" in vixio("access-points", "create", "--device", "kitchen", "--qr")
    lines = vixio("access-points").splitlines()
    assert [line.split("  ")[0] for line in lines[:1]] == ["OF"]
    assert {line[:14].strip() for line in lines[1:]} == {"profile child", "device 02:00:0"}
    assert {each["profile"] for each in json.loads(vixio("access-points", "list", "--json"))} == {
        "child",
        "",
    }
    assert vixio("access-points", "revoke", "--device", KITCHEN) == "revoked\n"
    assert "there is no access point of the" in vixio(
        "access-points", "revoke", "--device", "Kitchen", status=2
    )


@pytest.mark.parametrize("whose", [(), ("--profile", "a", "--device", "b")])
def test_whose_it_is_has_to_be_said(whose: tuple[str, ...]) -> None:
    assert "name --profile PROFILE or --device DEVICE" in vixio(
        "access-points", "create", *whose, status=2
    )


def test_there_is_none_of_what_is_not_there() -> None:
    words = vixio("access-points", "create", "--profile", "nobody", status=2)
    assert "there is no profile 'nobody'" in words
