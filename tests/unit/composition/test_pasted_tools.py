"""What looks like a key in a pasted source is stored apart, under the name of a variable."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from vixio.composition.pasted_tools import (
    ENV_FILE,
    MAX_ADDED,
    environment_of,
    kept_apart,
    made,
    removed,
    shown_target,
    stored,
)
from vixio.core.errors import ConfigError
from vixio.data.database.create import make_database
from vixio.data.devices.profile_repository import ProfileRepository
from vixio.data.devices.records import NotKnown, RegistryError
from vixio.tools.pasted.servers import Pasted

KEY = "ghp_0123456789abcdefABCDEF"

CASES: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"command": "x", "env": {"GITHUB_TOKEN": KEY, "MODE": "fast"}}, {"GITHUB_TOKEN": KEY}),
    ({"command": "x", "env": {"WHATEVER": KEY}}, {"WHATEVER": KEY}),
    ({"command": "x", "env": {"PASSWORD": "a b"}}, {"PASSWORD": "a b"}),
    ({"command": "x", "env": {"TOKEN": "${GIVEN}"}}, {}),
    ({"command": "x", "args": ["--api-key", "short", "-v"]}, {"API_KEY": "short"}),
    ({"command": "x", "args": [f"--api-key={KEY}"]}, {"API_KEY": KEY}),
    ({"command": "x", "args": ["-e", "API_KEY=short", KEY]}, {"API_KEY": "short", "KEY": KEY}),
    ({"command": "x", "args": ["--header", "Authorization: Bearer abc"]}, {"AUTHORIZATION": "abc"}),
    ({"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"]}, {}),
    ({"url": "http://h/m", "headers": {"Authorization": f"Bearer {KEY}"}}, {"AUTHORIZATION": KEY}),
    ({"url": "http://h/m", "headers": {"X-Api-Key": "short"}}, {"X_API_KEY": "short"}),
    ({"url": "https://h/mcp?api_key=short&page=2"}, {"API_KEY": "short"}),
    ({"url": f"https://h/{KEY}/sse"}, {"PATH": KEY}),
    ({"url": "https://ann:secret@h/mcp"}, {"PASSWORD": "secret"}),
    ({"url": "https://h/a2a", "token": "short"}, {"TOKEN": "short"}),
]  # fmt: skip


@pytest.mark.parametrize(("options", "expected"), CASES, ids=range(len(CASES)))
async def test_keys_are_found_stored_apart_and_put_in_again(
    options: dict[str, Any], expected: dict[str, str], tmp_path: Path
) -> None:
    pasted = Pasted("shop", "a2a" if "token" in options else "mcp", options)
    assert kept_apart(pasted, "") == expected
    database = make_database(tmp_path, "")
    await database.open()
    try:
        profiles = ProfileRepository(database, lambda: 1)
        await profiles.put("kids", {}, "test")
        await stored([pasted], "kids", profiles, tmp_path, "test")
        entry = (await profiles.tools())["kids"]["shop"]
        for secret in expected.values():
            assert secret not in str(entry["options"])
        environment = environment_of(tmp_path)
        names = [name for name in environment if name.startswith("TOOLS_KIDS__SHOP__")]
        assert sorted(names) == sorted(f"TOOLS_KIDS__SHOP__{name}" for name in expected)
        if "${GIVEN}" not in str(options):
            made("shop", entry["type"], entry["options"], environment)
        else:
            with pytest.raises(ConfigError, match="GIVEN is not set"):
                made("shop", entry["type"], entry["options"], environment)
        if expected:
            assert stat.S_IMODE((tmp_path / ENV_FILE).stat().st_mode) == 0o600
        await removed("shop", "kids", profiles, tmp_path, "test")
        assert await profiles.tools() == {}
        assert not [name for name in environment_of(tmp_path) if name.startswith("TOOLS_KIDS__")]
        with pytest.raises(NotKnown, match="there is no 'shop'"):
            await removed("shop", "kids", profiles, tmp_path, "test")
        with pytest.raises(NotKnown, match="there is no profile 'nobody'"):
            await stored([pasted], "nobody", profiles, tmp_path, "test")
        many = [Pasted(f"s{number}", "mcp", {"command": "x"}) for number in range(MAX_ADDED + 1)]
        with pytest.raises(RegistryError, match="remove some first"):
            await stored(many, "", profiles, tmp_path, "test")
        assert [each.name for each in await profiles.all()] == ["kids"]
        with pytest.raises(NotKnown):
            await profiles.find("*kids")
    finally:
        await database.close()


def test_what_is_shown_of_a_source_is_no_secret() -> None:
    shown: Mapping[str, dict[str, Any]] = {
        "python tools.py": {"command": "/usr/bin/python", "args": [KEY, "/srv/tools.py", "-x"]},
        "npx @scope/a": {"command": "npx", "args": ["-y", "@scope/a", "b"]},
        "h:8": {"url": f"https://ann:secret@h:8/{KEY}/mcp?key=x"},
        "docs": {"document": "http://docs/openapi.json"},
    }
    for expected, options in shown.items():
        assert shown_target(options) == expected
