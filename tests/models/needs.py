"""Says of a test file which packages beyond the default install it needs."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def needs(extra: str, *packages: str) -> list[pytest.MarkDecorator]:
    """Return the ``pytestmark`` of a file whose tests need ``packages``, which ``extra`` brings.

    Nothing is imported: a plain run collects these files in no time and skips them with the remedy.
    """
    missing = [package for package in packages if find_spec(package) is None]
    reason = f"no {', '.join(missing)}: run `make test-models`, or install the extra {extra!r}"
    return [pytest.mark.models, pytest.mark.skipif(bool(missing), reason=reason)]
