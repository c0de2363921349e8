"""Dify's own client, and dify-oapi2 for what that one does not have."""

from __future__ import annotations

import json
from typing import Any

from dify_client import ChatClient
from dify_oapi.api.chat.v1.model.stop_chat_request import StopChatRequest
from dify_oapi.api.chat.v1.model.stop_chat_request_body import StopChatRequestBody
from dify_oapi.api.knowledge.v1.model.retrieval_model import RetrievalModel
from dify_oapi.api.knowledge.v1.model.retrieve_from_dataset_request import (
    RetrieveFromDatasetRequest,
)
from dify_oapi.api.knowledge.v1.model.retrieve_from_dataset_request_body import (
    RetrieveFromDatasetRequestBody,
)
from dify_oapi.client import Client
from dify_oapi.core.model.request_option import RequestOption

from tests.vendors_sdk.programs.serving import serve


def own(base_url: str, key: str) -> ChatClient:
    client = ChatClient(key)
    client.base_url = base_url
    return client


def other(base_url: str) -> Client:
    return Client.builder().domain(base_url.removesuffix("/v1")).build()


def parameters(base_url: str, key: str, user: str) -> dict[str, Any]:
    """Return what an application's form asks for."""
    response = own(base_url, key).get_application_parameters(user)
    return {"status": response.status_code, "body": response.json()}


def chat(
    base_url: str,
    key: str,
    user: str,
    question: str,
    conversation: str = "",
    midway: bool = False,
) -> dict[str, Any]:
    """Ask a question; ``midway``: stop the answer at its first words."""
    response = own(base_url, key).create_chat_message(
        inputs={},
        query=question,
        user=user,
        response_mode="streaming",
        conversation_id=conversation or None,
    )
    if response.status_code != 200:
        return {"status": response.status_code, "refused": response.json()}
    events, stopped = [], ""
    for line in response.iter_lines():
        if not line.startswith(b"data:"):
            continue
        event = json.loads(line.removeprefix(b"data:"))
        events.append(event)
        if midway and event.get("answer") and not stopped:
            stopped = stop(base_url, key, user, event["task_id"])
    return {"status": 200, "events": events, "stopped": stopped}


def stop(base_url: str, key: str, user: str, task: str) -> str:
    body = StopChatRequestBody.builder().user(user).build()
    request = StopChatRequest.builder().task_id(task).request_body(body).build()
    option = RequestOption.builder().api_key(key).build()
    return str(other(base_url).chat.v1.chat.stop(request, option).result)


def retrieve(base_url: str, key: str, dataset: str, question: str) -> dict[str, Any]:
    """Search a dataset."""
    model = (
        RetrievalModel.builder()
        .search_method("semantic_search")
        .reranking_enable(False)
        .top_k(2)
        .score_threshold_enabled(False)
        .build()
    )
    body = RetrieveFromDatasetRequestBody.builder().query(question).retrieval_model(model).build()
    request = RetrieveFromDatasetRequest.builder().dataset_id(dataset).request_body(body).build()
    option = RequestOption.builder().api_key(key).build()
    found = other(base_url).knowledge.v1.dataset.retrieve(request, option)
    if not found.success:
        return {"code": found.code, "words": found.msg}
    records = [(each.segment.document.name, each.segment.content) for each in found.records or []]
    return {"query": found.query.content, "records": records}


if __name__ == "__main__":
    serve(parameters, chat, retrieve)
