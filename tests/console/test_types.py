"""The console's JavaScript, checked by TypeScript with types made from the API's document."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.api_client import api_server

STATIC = Path(__file__).resolve().parents[2] / "vixio" / "web" / "console" / "static"
CONFIG = Path(__file__).with_name("js") / "tsconfig.json"

BOUND = 170.0

pytestmark = pytest.mark.slow


async def run(program: str, *arguments: str | Path) -> tuple[int, str]:
    """Run a program of the npm packages; return its exit status and what it says."""
    path = Path(os.environ["VIXIO_TEST_CONSOLE"], "node_modules", ".bin", program)
    process = await asyncio.create_subprocess_exec(
        path,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(BOUND):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def typed(folder: Path) -> Path:
    """Copy the modules and put the types of the API beside them; return the configuration.

    Types of the API are ``import("../types/api.js").components["schemas"]`` in a folder of static.
    """
    static = folder / "static"
    await asyncio.to_thread(shutil.copytree, STATIC, static)
    shutil.copy(CONFIG, static)
    async with (
        api_server(folder) as api,
        api.http.get(f"{api.server.http_url}/api/v1/openapi.json") as answer,
    ):
        document = await answer.json()
    (folder / "openapi.json").write_text(json.dumps(document))
    api_types = static / "types" / "api.d.ts"
    status, said = await run("openapi-typescript", folder / "openapi.json", "--output", api_types)
    assert status == 0, said
    assert "Device:" in api_types.read_text("utf-8")
    return static / CONFIG.name


async def test_types(tmp_path: Path) -> None:
    config = await typed(tmp_path)
    status, said = await run("tsc", "--project", config)
    assert status == 0, said
    # The same, with a mistake about the API in it: the check is able to fail.
    wrong = '/** @type {import("../types/api.js").components["schemas"]["Device"]["id"]} */\n'
    (config.parent / "lib" / "wrong.js").write_text(f"{wrong}export const id = 7;\n")
    status, said = await run("tsc", "--project", config)
    assert status != 0
    assert "lib/wrong.js" in said
    assert "TS2322" in said
