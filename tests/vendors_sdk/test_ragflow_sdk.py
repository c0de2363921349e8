"""RAGFlow's own client on the stand-in."""

from __future__ import annotations

from tests.vendors_sdk.client import VendorClient
from vixio_bench.vendors.knowledge.service import KEY, Document, KnowledgeService


async def test_knowledge_is_found(client: VendorClient) -> None:
    async with KnowledgeService() as service:
        service.documents += [
            Document("house", "manual.md", "The boiler is in the cellar."),
            Document("other", "other.md", "A boiler is a thing."),
        ]
        asked = {"base_url": service.http, "question": "Where is the boiler?"}
        found = await client.call("retrieve", key=KEY, datasets=["house", "other"], **asked)
        chunks = found["chunks"]
        assert [chunk["content"] for chunk in chunks] == [
            "The boiler is in the cellar.",
            "A boiler is a thing.",
        ]
        assert [chunk["dataset_id"] for chunk in chunks] == ["house", "other"]
        assert all(chunk["id"] and chunk["document_id"] for chunk in chunks)
        assert chunks[0]["similarity"] == 0.75
        refused = await client.call("retrieve", key="another", datasets=["house"], **asked)
        assert "API key is invalid" in refused["words"]
        unknown = await client.call("retrieve", key=KEY, datasets=["none"], **asked)
        assert unknown["words"] == "You don't own the dataset none."
