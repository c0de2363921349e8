"""Runs `vixio check` for a test, and reads what it found."""

from __future__ import annotations

from pathlib import Path

from vixio.cli.diagnostics.check import Part, check_all

LOOPBACK = "server: {host: 127.0.0.1, port: 0, http_port: 0}\n"


async def run(directory: Path, text: str = "") -> dict[str, Part]:
    path = directory / "vixio.yaml"
    path.write_text(LOOPBACK + text if "server" not in text else text, encoding="utf-8")
    parts: list[Part] = []
    all_ok = await check_all(path, "my settings", parts.append)
    assert all_ok == all(part.ok for part in parts)
    return {part.name: part for part in parts}


def failed(parts: dict[str, Part]) -> dict[str, str]:
    return {name: part.detail for name, part in parts.items() if not part.ok}
