// The device as an MCP server: JSON-RPC over its socket (mcp_server.cc).

/**
 * @typedef {object} Tool
 * @property {string} name
 * @property {string} description
 * @property {Record<string, {type: string, minimum?: number, maximum?: number}>} properties all are required
 * @property {boolean} [userOnly] listed only where the server asks for such
 * @property {(args: any) => unknown} call its result is sent as text
 */

const MAX_PAGE_BYTES = 8000; // McpServer::GetToolsList, max_payload_size
const PAGE_RESERVE = 30;

/** Events: `call` ({name, arguments, result | error, ms}), `listed`. */
export class McpServer extends EventTarget {
  /** @type {import("./camera.js").Vision | null} */
  vision = null;
  #tools;
  #allowed;
  #send;
  #version;
  /** @type {Promise<unknown>} calls run one after another, as on the firmware's main task */
  #running = Promise.resolve();

  /**
   * @param {Tool[]} tools @param {(tool: Tool) => boolean} allowed whether a tool is offered now
   * @param {string} version @param {(payload: any) => void} send
   */
  constructor(tools, allowed, version, send) {
    super();
    this.#tools = tools;
    this.#allowed = allowed;
    this.#version = version;
    this.#send = send;
  }

  /** Tells the server that the list is another. */
  announce() {
    this.#send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
  }

  /** Takes a message; what is no request is dropped, as the firmware does. @param {any} payload */
  receive(payload) {
    const { jsonrpc, method, params, id } = payload ?? {};
    if (jsonrpc !== "2.0" || typeof method !== "string" || method.startsWith("notifications")) return;
    if (typeof id !== "number" || (params !== undefined && (typeof params !== "object" || params === null))) return;
    if (method === "initialize") this.#initialize(id, params ?? {});
    else if (method === "tools/list") this.#list(id, params ?? {});
    else if (method === "tools/call") this.#call(id, params);
    else this.#fail(id, `Method not implemented: ${method}`);
  }

  /** @param {number} id @param {any} params */
  #initialize(id, params) {
    const vision = params.capabilities?.vision;
    this.vision = typeof vision?.url === "string" ? { url: vision.url, token: String(vision.token ?? "") } : null;
    this.#answer(id, {
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: "browser", version: this.#version },
    });
  }

  /** @param {number} id @param {any} params */
  #list(id, { cursor = "", withUserTools = false }) {
    const offered = this.#tools.filter((tool) => this.#allowed(tool) && (withUserTools || !tool.userOnly));
    const from = cursor ? offered.findIndex(({ name }) => name === cursor) : 0;
    if (from < 0) return this.#fail(id, `Unknown cursor: ${cursor}`);
    const page = [];
    let size = '{"tools":['.length;
    for (const tool of offered.slice(from)) {
      const described = describe(tool);
      size += new TextEncoder().encode(JSON.stringify(described)).length + 1;
      if (size + PAGE_RESERVE > MAX_PAGE_BYTES) {
        this.#answer(id, { tools: page, nextCursor: tool.name });
        return;
      }
      page.push(described);
    }
    this.#answer(id, { tools: page });
    this.dispatchEvent(new CustomEvent("listed", { detail: offered.map(({ name }) => name) }));
  }

  /** @param {number} id @param {any} params */
  #call(id, params) {
    const { name, arguments: given = {} } = params ?? {};
    const tool = this.#tools.find((each) => each.name === name && this.#allowed(each));
    if (!tool) return this.#fail(id, `Unknown tool: ${name}`);
    const wrong = check(tool, given);
    if (wrong) return this.#fail(id, wrong);
    this.#running = this.#running.then(() => this.#run(id, tool, given));
  }

  /** @param {number} id @param {Tool} tool @param {any} given */
  async #run(id, tool, given) {
    const began = performance.now();
    /** @type {any} */
    const happened = { name: tool.name, arguments: given };
    try {
      const result = await tool.call(given);
      happened.result = typeof result === "string" ? result : JSON.stringify(result);
      this.#answer(id, { content: [{ type: "text", text: happened.result }], isError: false });
    } catch (error) {
      happened.error = error instanceof Error ? error.message : String(error);
      this.#fail(id, happened.error);
    }
    happened.ms = performance.now() - began;
    this.dispatchEvent(new CustomEvent("call", { detail: happened }));
  }

  /** @param {number} id @param {any} result */
  #answer(id, result) {
    this.#send({ jsonrpc: "2.0", id, result });
  }

  /** @param {number} id @param {string} message */
  #fail(id, message) {
    this.#send({ jsonrpc: "2.0", id, error: { message } });
  }
}

/** As McpTool::to_json. @param {Tool} tool */
function describe({ name, description, properties, userOnly }) {
  const required = Object.keys(properties);
  return {
    name,
    description,
    inputSchema: { type: "object", properties, ...(required.length ? { required } : {}) },
    ...(userOnly ? { annotations: { audience: ["user"] } } : {}),
  };
}

/** Returns what is wrong with arguments, in the firmware's words (Property::set_value). @param {Tool} tool @param {any} given */
function check({ properties }, given) {
  if (typeof given !== "object" || given === null) return "Invalid arguments";
  for (const [name, { type, minimum = -Infinity, maximum = Infinity }] of Object.entries(properties)) {
    const value = given[name];
    if (typeof value !== (type === "integer" ? "number" : type)) return `Missing valid argument: ${name}`;
    if (type !== "integer") continue;
    if (value < minimum) return `Value is below minimum allowed: ${minimum}`;
    if (value > maximum) return `Value exceeds maximum allowed: ${maximum}`;
  }
  return "";
}
