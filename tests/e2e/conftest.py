"""Each test that asks for ``house`` runs on SQLite, and on PostgreSQL where it is installed.

The processes of one server are nodes where `make test-cluster` runs these tests.
"""

from tests.e2e.house import house
from tests.support.joined import joined_by_nats
from tests.support.registry_databases import postgres_url

__all__ = ["house", "joined_by_nats", "postgres_url"]
