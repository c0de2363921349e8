"""Says of a test file which packages beyond the default install it needs."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def needs(extra: str, *packages: str) -> list[pytest.MarkDecorator]:
    """Return the ``pytestmark`` of a file whose tests need ``packages``, which ``extra`` brings.

    Where they are missing the whole file is skipped, in one line that says so. Nothing is imported:
    a plain run collects these files in no time.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        reason = f"no {', '.join(missing)}: run `make test-models`, or install the extra {extra!r}"
        pytest.skip(reason, allow_module_level=True)
    return [pytest.mark.models]
