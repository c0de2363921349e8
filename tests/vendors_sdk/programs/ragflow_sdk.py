"""RAGFlow's own client: retrieval."""

from __future__ import annotations

from typing import Any

from ragflow_sdk import RAGFlow

from tests.vendors_sdk.programs.serving import serve


def retrieve(base_url: str, key: str, datasets: list[str], question: str) -> dict[str, Any]:
    """Search datasets."""
    client = RAGFlow(api_key=key, base_url=base_url)
    chunks = client.retrieve(dataset_ids=datasets, question=question, page_size=2)
    names = ("content", "document_name", "document_id", "dataset_id", "similarity", "id")
    return {"chunks": [{name: getattr(chunk, name) for name in names} for chunk in chunks]}


if __name__ == "__main__":
    serve(retrieve)
