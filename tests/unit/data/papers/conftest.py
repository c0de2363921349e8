"""Databases of the tests of documents."""

from __future__ import annotations

from tests.support.registry_databases import make, postgres_url

__all__ = ["make", "postgres_url"]
