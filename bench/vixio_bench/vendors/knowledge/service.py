"""RAGFlow's and Dify's retrieval on one port."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

from aiohttp import web

from vixio_bench.vendors.base import Trouble, VendorService

KEY: Final = "knowledge-of-the-stand-in"


@dataclass(frozen=True)
class Document:
    """A passage; it is found by the share of its words that a question has."""

    dataset: str
    name: str
    text: str

    def score(self, question: str) -> float:
        """Return how well it answers, 0…1."""
        words = {each.strip(".,?!").lower() for each in question.split()}
        return min(1.0, sum(each in self.text.lower() for each in words) / max(1, len(words)))


class KnowledgeService(VendorService):
    """Both on one port."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given, **options)
        self.documents: list[Document] = []
        self.asked: list[dict[str, Any]] = []

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.post("/api/v1/retrieval", self._ragflow),
            web.post("/v1/datasets/{dataset}/retrieve", self._dify),
        ]

    def _found(self, dataset: str, question: str) -> list[tuple[float, Document]]:
        found = [(each.score(question), each) for each in self.documents if each.dataset == dataset]
        return sorted(found, key=lambda each: -each[0])

    async def _trouble(self) -> web.Response | None:
        match self.trouble():
            case Trouble.STALL:
                await asyncio.Event().wait()
            case Trouble.GARBAGE:
                return web.json_response({"data": [], "records": [1]})
            case Trouble.BUSY:
                return web.json_response({"message": "busy"}, status=503)
        return None

    async def _ragflow(self, request: web.Request) -> web.StreamResponse:
        asked, times = await request.json(), self.timed()
        self.asked.append(asked)
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            body = {"code": 109, "message": "Authentication error: API key is invalid!"}
            return web.json_response(body)  # with the status 200
        if response := await self._trouble():
            return response
        known = {each.dataset for each in self.documents}
        if unknown := set(asked["dataset_ids"]) - known:
            text = f"You don't own the dataset {unknown.pop()}."
            return web.json_response({"code": 102, "message": text, "data": False})
        found = [
            each
            for dataset in asked["dataset_ids"]
            for each in self._found(dataset, asked["question"])
            if each[0] >= asked["similarity_threshold"]
        ]
        chunks = [
            {
                "id": f"chunk-{self.documents.index(document)}",
                "content": document.text,
                "document_id": f"document-{self.documents.index(document)}",
                "document_keyword": document.name,
                "dataset_id": document.dataset,
                "similarity": score,
            }
            for score, document in found[: asked["page_size"]]
        ]
        times.first = times.last = perf_counter()
        return web.json_response({"code": 0, "data": {"chunks": chunks, "total": len(chunks)}})

    async def _dify(self, request: web.Request) -> web.StreamResponse:
        asked, dataset = await request.json(), request.match_info["dataset"]
        times = self.timed()
        self.asked.append(asked)
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            body = {"code": "unauthorized", "message": "Access token is invalid", "status": 401}
            return web.json_response(body, status=401)
        if response := await self._trouble():
            return response
        if dataset not in {each.dataset for each in self.documents}:
            body = {"code": "not_found", "message": "Dataset not found.", "status": 404}
            return web.json_response(body, status=404)
        model = asked["retrieval_model"]
        records = [
            {
                "segment": {"content": document.text, "document": {"name": document.name}},
                "score": score,
            }
            for score, document in self._found(dataset, asked["query"])[: model["top_k"]]
        ]
        query = {"content": asked["query"]}
        times.first = times.last = perf_counter()
        return web.json_response({"query": query, "records": records})
