// The client of @a2a-js/sdk 0.3, as its documentation has it.

import { randomUUID } from "node:crypto";
import { A2AClient } from "a2a-sdk-0.3/client";

export async function connect(url, fetchImpl) {
  const client = await A2AClient.fromCardUrl(`${url}/.well-known/agent-card.json`, { fetchImpl });
  const params = ({ text, offer, results, taskId, contextId }) => {
    const parts = [];
    if (text) parts.push({ kind: "text", text });
    if (offer) {
      const metadata = { type: "tool-definitions", format: "langchain", count: offer.length };
      parts.push({ kind: "data", data: { tools: offer }, metadata });
    }
    if (results) {
      const metadata = { type: "tool-results", format: "langchain" };
      parts.push({ kind: "data", data: { tool_results: results }, metadata });
    }
    const message = { kind: "message", messageId: randomUUID(), role: "user", parts };
    if (taskId) message.taskId = taskId;
    if (contextId) message.contextId = contextId;
    return { message };
  };
  return {
    async send(message) {
      return taskOf(result(await client.sendMessage(params(message))));
    },
    async *stream(message) {
      for await (const event of client.sendMessageStream(params(message))) yield eventOf(event);
    },
    async *resubscribe(id) {
      for await (const event of client.resubscribeTask({ id })) yield eventOf(event);
    },
    async get(id) {
      return taskOf(result(await client.getTask({ id })));
    },
    async cancel(id) {
      return taskOf(result(await client.cancelTask({ id })));
    },
  };
}

function result(response) {
  if (response.error) throw new Error(JSON.stringify(response.error));
  return response.result;
}

function eventOf(event) {
  if (event.kind === "task") return { task: taskOf(event) };
  if (event.kind === "artifact-update") return { text: textOf(event.artifact.parts) };
  return { state: event.status.state, final: event.final };
}

function taskOf(task) {
  const parts = task.status.message?.parts ?? [];
  const calls = parts.filter((part) => part.metadata?.type === "tool-calls");
  return {
    id: task.id,
    contextId: task.contextId,
    state: task.status.state,
    text: (task.artifacts ?? []).map((each) => textOf(each.parts)).join(""),
    calls: calls.flatMap((part) => part.data.tool_calls),
  };
}

function textOf(parts) {
  return parts.map((part) => part.text).join("");
}
