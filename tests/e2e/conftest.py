"""Each test that asks for ``house`` runs on SQLite, and on PostgreSQL where it is installed."""

from tests.e2e.house import house
from tests.support.registry_databases import postgres_url

__all__ = ["house", "postgres_url"]
