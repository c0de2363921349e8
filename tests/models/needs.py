"""The packages beyond the default install that a test file needs."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def needs(extra: str, *packages: str) -> list[pytest.MarkDecorator]:
    """Return the ``pytestmark`` of a file whose tests need ``packages`` of the extra ``extra``.

    If one is missing, the whole file is skipped with one line. No package is imported, so a plain
    run collects these files fast.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        reason = f"no {', '.join(missing)}: run `make test-models`, or install the extra {extra!r}"
        pytest.skip(reason, allow_module_level=True)  # the package is an extra of its own
    return [pytest.mark.models]
