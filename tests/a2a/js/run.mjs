// Runs one scenario with one of the clients: node run.mjs CLIENT URL SCENARIO
//
// CLIENT is 0.3, 1 or 1-rest. The token stands in A2A_TOKEN. A line on standard output tells the
// test where the scenario is.

import assert from "node:assert/strict";

const [, , name, url, scenario] = process.argv;

async function authorized(input, init = {}) {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${process.env.A2A_TOKEN}`);
  return fetch(input, { ...init, headers });
}

const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Get the current weather information for a given location",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city"],
    },
  },
};

function answers(calls) {
  return calls.map((call) => ({
    tool_call_id: call.id,
    name: call.name,
    status: "success",
    content: { city: JSON.parse(call.arguments).city, days: 5, sky: "clear" },
  }));
}

async function all(events, seen = []) {
  for await (const event of events) seen.push(event);
  return seen;
}

const scenarios = {
  // The document's workflow: offer, call, result, until the answer is there.
  async call(client) {
    let task = await client.send({ text: "What's the weather in Paris?", offer: [weather] });
    const id = task.id;
    let rounds = 0;
    while (task.calls.length > 0) {
      rounds += 1;
      assert.equal(task.state, "input-required");
      for (const call of task.calls) assert.deepEqual(call.args, JSON.parse(call.arguments));
      task = await client.send({ results: answers(task.calls), offer: [weather], taskId: id });
    }
    assert.equal(task.id, id);
    assert.equal(task.state, "completed");
    assert.equal(task.text, "It is sunny.");
    assert.equal(rounds, 2);
    assert.equal((await client.get(id)).text, "It is sunny.");
  },

  // The result as words, in the context alone.
  async text(client) {
    const task = await client.send({ text: "What's the weather in Paris?", offer: [weather] });
    assert.equal(task.calls.length, 1);
    const said = 'Tool "get_weather" returned: {"sky": "clear"}';
    const done = await client.send({ text: said, offer: [weather], contextId: task.contextId });
    assert.equal(done.id, task.id);
    assert.equal(done.text, "It is sunny.");
  },

  async parallel(client) {
    const task = await client.send({ text: "Paris and Rome?", offer: [weather] });
    assert.deepEqual(task.calls.map((call) => call.args.city).sort(), ["Paris", "Rome"]);
    const done = await client.send({ results: answers(task.calls), taskId: task.id });
    assert.equal(done.text, "Both are sunny.");
  },

  async error(client) {
    const task = await client.send({ text: "Paris?", offer: [weather] });
    const results = task.calls.map((call) => ({
      tool_call_id: call.id,
      status: "error",
      content: "no such city",
    }));
    const done = await client.send({ results, taskId: task.id });
    assert.equal(done.text, "It did not work.");
    await assert.rejects(client.send({ results, taskId: task.id }));
  },

  async context(client) {
    const first = await client.send({ text: "I am Ann" });
    const second = await client.send({ text: "Who am I?", contextId: first.contextId });
    assert.equal(second.contextId, first.contextId);
    assert.equal(second.text, "You are Ann.");
  },

  async stream(client) {
    const seen = await all(client.stream({ text: "What's the weather in Paris?", offer: [weather] }));
    const id = seen[0].task.id;
    assert.equal(seen.at(-1).state, "input-required");
    if (name === "0.3") assert.equal(seen.at(-1).final, true);
    const { calls } = await client.get(id);
    const rest = [];
    for await (const event of client.stream({ results: answers(calls), taskId: id })) {
      if (event.text && !rest.some((each) => each.text)) console.log("words");
      rest.push(event);
    }
    const words = rest.filter((event) => event.text).map((event) => event.text);
    assert.ok(words.length >= 2, JSON.stringify(rest));
    assert.equal(words.join(""), "It is sunny.");
    assert.equal(rest.at(-1).state, "completed");
  },

  async resubscribe(client) {
    let id;
    for await (const event of client.stream({ text: "Count" })) {
      id = event.task.id;
      break;
    }
    const seen = [];
    for await (const event of client.resubscribe(id)) {
      if (seen.length === 0) console.log("subscribed");
      seen.push(event);
    }
    assert.equal(seen[0].task.id, id);
    assert.equal(seen.at(-1).state, "completed");
    assert.equal((await client.get(id)).text, "One, two.");
  },

  async cancel(client) {
    const stream = client.stream({ text: "Count" });
    const { id } = (await stream.next()).value.task;
    console.log("begun");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    process.stdin.destroy();
    assert.equal((await client.cancel(id)).state, "canceled");
    const rest = await all(stream);
    if (rest.length > 0) assert.equal(rest.at(-1).state, "canceled");
    await assert.rejects(client.cancel(id));
    const waiting = await client.send({ text: "Paris?", offer: [weather] });
    assert.equal((await client.cancel(waiting.id)).state, "canceled");
  },
};

const { connect } = await import(name === "0.3" ? "./client_0_3.mjs" : "./client_1.mjs");
const client = await connect(url, authorized, name === "1-rest" ? "rest" : "jsonrpc");
await scenarios[scenario](client);
console.log("done");
