"""Imports what the programs use; fails where a package is missing."""

from __future__ import annotations

import importlib
import pkgutil

from tests.vendors_sdk import programs

for module in pkgutil.iter_modules(programs.__path__):
    if module.name != "__main__":
        importlib.import_module(f"{programs.__name__}.{module.name}")
