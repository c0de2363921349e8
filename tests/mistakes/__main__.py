"""Writes the snapshots anew: ``python -m tests.mistakes [GROUP…]``. Read what `git diff` shows."""

from __future__ import annotations

import sys
from time import process_time

from tests.mistakes.groups import GROUPS
from tests.mistakes.snapshots import path_of, taken


def main(names: list[str]) -> int:
    """Write the snapshots of the groups ``names``, or of all; return the exit status."""
    if unknown := [name for name in names if name not in GROUPS]:
        print(f"no such group: {', '.join(unknown)} (known: {', '.join(GROUPS)})")
        return 2
    for name in names or GROUPS:
        began = process_time()
        text = taken(name)
        path = path_of(name)
        changed = not path.exists() or path.read_text(encoding="utf-8") != text
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        seconds = process_time() - began
        print(
            f"{path.name}: {len(GROUPS[name])} mistakes, {seconds:.1f} s"
            f"{', changed' if changed else ''}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
