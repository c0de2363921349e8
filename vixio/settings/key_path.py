"""The place of a value in the settings."""

from __future__ import annotations

KeyPath = tuple[str | int, ...]


def show_path(path: KeyPath) -> str:
    """Return ``path`` as people write it: ``listening.end_silence_ms``, ``wake_words[1]``."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
        else:
            shown += f".{part}" if shown else part
    return shown
