// The client of @a2a-js/sdk 1.x, as its documentation has it, over either transport.

import { randomUUID } from "node:crypto";
import { Role, TaskState } from "a2a-sdk-1";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "a2a-sdk-1/client";

export async function connect(url, fetchImpl, transport) {
  const rest = transport === "rest";
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      preferredTransports: [rest ? "HTTP+JSON" : "JSONRPC"],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  );
  const client = await factory.createFromUrl(url);
  const used = client.transport.constructor.name;
  if (!used.includes(rest ? "Rest" : "JsonRpc") || client.protocolVersion !== "1.0") {
    throw new Error(`${used} ${client.protocolVersion}`);
  }
  const params = ({ text, offer, results, taskId, contextId }) => {
    const parts = [];
    const add = (content, metadata) => parts.push({ content, metadata, filename: "", mediaType: "" });
    if (text) add({ $case: "text", value: text });
    if (offer) {
      const metadata = { type: "tool-definitions", format: "langchain", count: offer.length };
      add({ $case: "data", value: { tools: offer } }, metadata);
    }
    if (results) {
      const metadata = { type: "tool-results", format: "langchain" };
      add({ $case: "data", value: { tool_results: results } }, metadata);
    }
    const message = {
      messageId: randomUUID(),
      role: Role.ROLE_USER,
      parts,
      taskId: taskId ?? "",
      contextId: contextId ?? "",
      extensions: [],
      referenceTaskIds: [],
    };
    return { tenant: "", message };
  };
  return {
    async send(message) {
      return taskOf(await client.sendMessage(params(message)));
    },
    async *stream(message) {
      for await (const event of client.sendMessageStream(params(message))) yield eventOf(event);
    },
    async *resubscribe(id) {
      for await (const event of client.resubscribeTask({ tenant: "", id })) yield eventOf(event);
    },
    async get(id) {
      return taskOf(await client.getTask({ tenant: "", id }));
    },
    async cancel(id) {
      return taskOf(await client.cancelTask({ tenant: "", id }));
    },
  };
}

function eventOf({ payload }) {
  if (payload.$case === "task") return { task: taskOf(payload.value) };
  if (payload.$case === "artifactUpdate") return { text: textOf(payload.value.artifact.parts) };
  return { state: stateOf(payload.value.status) };
}

function taskOf(task) {
  const parts = task.status.message?.parts ?? [];
  const calls = parts.filter((part) => part.metadata?.type === "tool-calls");
  return {
    id: task.id,
    contextId: task.contextId,
    state: stateOf(task.status),
    text: (task.artifacts ?? []).map((each) => textOf(each.parts)).join(""),
    calls: calls.flatMap((part) => part.content.value.tool_calls),
  };
}

function stateOf(status) {
  return TaskState[status.state].replace("TASK_STATE_", "").toLowerCase().replace("_", "-");
}

function textOf(parts) {
  return parts.map((part) => part.content.value).join("");
}
