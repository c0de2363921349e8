"""Write what can differ for a device into the template: `python scripts/settings_template.py`.

The lines of ``assistant`` in ``vixio/settings/templates/vixio.yaml``, and in the copy of that in
docs/configuration.md, follow from the fields of ``vixio.core.device.DeviceProfile``. A test fails
where they do not.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from vixio.core.moment import ContextSources
from vixio.core.replacements import Replacements
from vixio.core.roles import Roles
from vixio.settings.assistant import PROFILE_KEYS

ROOT = Path(__file__).resolve().parent.parent
FILES = (ROOT / "vixio/settings/templates/vixio.yaml", ROOT / "docs/configuration.md")

BEGIN = "  # Like language and instructions, these can differ for a device and in a profile:\n"
END = "  # For all devices:\n"

BY_HAND = {"language", "instructions"}
"""Keys whose lines stand in the template as they are."""

_COMMENT = 28
"""Column of the comments."""
_WIDTH = 100


def lines() -> Iterator[str]:
    """Yield the lines of the keys that can differ, in the order of the profile's fields."""
    for each in PROFILE_KEYS:
        if each.of_all not in BY_HAND:
            start = f"  {each.of_all}: {_yaml(each.setting.default)}"
            about = textwrap.wrap(each.setting.about, _WIDTH - _COMMENT - 2, break_on_hyphens=False)
            yield f"{start:<{_COMMENT - 1}} # {about[0]}\n"
            yield from (f"{'':{_COMMENT}}# {more}\n" for more in about[1:])


def _yaml(default: object) -> str:
    if isinstance(default, Replacements):
        default = dict(default.pairs)
    if isinstance(default, Roles):
        default = dict(default.by_profile)
    if isinstance(default, ContextSources):
        default = default.given()
    return json.dumps(default, ensure_ascii=False)


def written(text: str) -> str:
    """Return a file's text with the lines as they are to be."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(
            f"the template has lost one of its lines: {BEGIN.strip()!r}, {END.strip()!r}"
        )
    return "".join((before, begin, *lines(), end, after))


def main() -> None:
    """Write the files."""
    print(f"the settings of {sys.modules['vixio'].__file__}")
    for path in FILES:
        before = path.read_text("utf-8")
        after = written(before)
        path.write_text(after, "utf-8")
        print(f"{path.relative_to(ROOT)}: {'as it was' if after == before else 'written'}")


if __name__ == "__main__":
    main()
