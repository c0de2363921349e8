"""The mistakes, by the snapshot file that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.mistakes.commands import COMMANDS
from tests.mistakes.files import FILES
from tests.mistakes.kit import Mistake
from tests.mistakes.providers import PROVIDERS
from tests.mistakes.tools import TOOLS
from tests.mistakes.values import VALUES
from tests.mistakes.writing import WRITING

GROUPS: Mapping[str, Sequence[Mistake]] = {
    "writing": WRITING,
    "values": VALUES,
    "files": FILES,
    "providers": PROVIDERS,
    "tools": TOOLS,
    "commands": COMMANDS,
}
