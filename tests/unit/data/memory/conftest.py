"""Each test that asks for ``make`` runs on SQLite, and on PostgreSQL where it is installed."""

from tests.support.registry_databases import make, postgres_url

__all__ = ["make", "postgres_url"]
