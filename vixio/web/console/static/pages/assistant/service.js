// What a service needs: its address, its key, a model of its list. Checked at the service, and what is
// wrong is said at its field.

import { button, field, select, setFieldError } from "../../components/controls.js";
import { ApiError, post } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { has, t } from "../../lib/i18n.js";
import { serviceOf } from "./parts.js";

/** @typedef {import("./parts.js").Kind} Kind */
/** @typedef {import("./parts.js").Service} Service */

/** What was typed, kept when a page is left. @typedef {{choice: string, service: string, url: string, model: string}} Typed */

export const URL_SERVICE = "url";

/** In the place of a secret that the server has. */
export const KEPT = "***";

const OTHER = "";

/** Ends what a form began, after the reason was shown at a field. */
export function stop() {
  return new DOMException("shown at its field", "AbortError");
}

/** Any other server with this API. @returns {Service} */
export function otherService() {
  return { name: URL_SERVICE, title: t("assistant.service.other"), base_url: "", needs_key: false, key_known: false, model: "", agent: { name: "openai" }, asr: null, tts: null };
}

/** The fields of a service for one part. */
export class ServiceFields {
  element = h("div", { class: "stack service more-of" });
  /** @type {Service | null} */
  #service = null;
  #url = h("input", { type: "url", autocomplete: "off", spellcheck: false, maxLength: 500 });
  #key = h("input", { type: "password", autocomplete: "off", spellcheck: false, maxLength: 500 });
  #name = h("input", { type: "text", autocomplete: "off", spellcheck: false, maxLength: 200 });
  #list = h("div");
  #said = h("p", { class: "small", role: "status" });
  #general = h("div");
  #select = select([]);
  /** What the list was asked with; empty: it was not. */
  #checked = "";
  /** Taken although it could not be tried. */
  #accepted = "";
  #urlField;
  #keyField;

  /**
   * @param {Kind} kind @param {Typed} typed @param {Map<string, string>} keys by address @param {any} entry what is there
   * @param {AbortSignal} signal @param {() => void} changed
   */
  constructor(kind, typed, keys, entry, signal, changed) {
    this.kind = kind;
    this.typed = typed;
    this.keys = keys;
    this.entry = entry;
    this.signal = signal;
    this.#urlField = field(t("assistant.url"), this.#url, { hint: t("assistant.url.hint") });
    this.#keyField = h("div");
    this.#url.addEventListener("input", () => {
      typed.url = this.#url.value.trim();
      changed();
    });
    this.#key.addEventListener("input", () => keys.set(this.#address(), this.#key.value.trim()));
    this.#name.addEventListener("input", () => {
      typed.model = this.#name.value.trim();
      changed();
    });
    this.#select.addEventListener("change", () => {
      typed.model = this.#select.value;
      if (this.#select.value === OTHER) this.#drawModel(null);
      changed();
    });
    fill(this.element, this.#urlField, this.#keyField, this.#general, this.#said, this.#list);
  }

  /** Shows the fields of a service; null: none. @param {Service | null} service */
  show(service) {
    this.#service = service;
    this.#checked = "";
    this.element.hidden = !service;
    fill(this.#list);
    fill(this.#general);
    this.#said.textContent = "";
    if (!service) return;
    const other = service.name === URL_SERVICE;
    this.#urlField.hidden = !other;
    if (other) this.#url.value = this.typed.url || (this.entry?.base_url ?? "");
    this.#key.value = this.keys.get(this.#address()) ?? "";
    const known = this.#known();
    const label = other ? t("assistant.key.other") : t("assistant.key", { title: service.title });
    const hint = known ? t("assistant.key.kept") : other ? t("assistant.key.perhaps") : t("assistant.key.hint");
    this.#keyField.hidden = !service.needs_key && !other;
    fill(this.#keyField, field(label, this.#key, { hint }));
    if (this.kind === "agent" && this.#usual()) this.#drawModel(null);
    if (this.kind === "agent" && !service.needs_key && !other) void this.#check().catch(() => undefined); // it is said
  }

  focus() {
    if (!this.#urlField.hidden) this.#url.focus();
    else if (!this.#keyField.hidden) this.#key.focus();
  }

  /** Whether a stored key is for this address. */
  #known() {
    return Boolean(this.#service?.key_known) || (this.#own() && this.entry.api_key === KEPT);
  }

  #own() {
    return Boolean(this.entry) && (this.entry.base_url ?? "") === this.#address() && this.entry.name === "openai";
  }

  #address() {
    return this.#service?.name === URL_SERVICE ? this.#url.value.trim() : this.#service?.base_url ?? "";
  }

  /** What is proposed as the model. */
  #usual() {
    return this.typed.model || (this.#own() && this.entry.model) || this.#service?.model || "";
  }

  #secret() {
    return this.#key.value.trim() || (this.#known() ? KEPT : "");
  }

  /** The section. Raises what `stop` returns, after it was said at its field what is wrong. */
  async read() {
    const service = /** @type {Service} */ (this.#service);
    const fresh = await this.#check();
    const model = this.#select.isConnected ? this.#select.value : this.#name.value.trim();
    if (this.kind === "agent") {
      if (fresh && this.#select.isConnected) {
        // So that the model is seen before it is taken. Enter in a list would send nothing.
        /** @type {HTMLElement | null | undefined} */ (this.element.closest("form")?.querySelector("[type=submit]"))?.focus();
        throw stop();
      }
      setFieldError(this.#name, model ? "" : t("assistant.model.missing"));
      if (!model) {
        this.#name.focus();
        throw stop();
      }
    }
    const url = this.#address();
    const secret = this.#secret();
    const kept = this.#own() ? this.entry : {};
    const options = service[this.kind] ?? {};
    return {
      ...kept,
      ...options,
      name: "openai",
      ...(url ? { base_url: url } : {}),
      ...(secret ? { api_key: secret } : {}),
      ...(this.kind === "agent" ? { model } : {}),
    };
  }

  /** Asks the service for its models, unless that was done. @returns {Promise<boolean>} whether it was asked now */
  async #check() {
    const service = /** @type {Service} */ (this.#service);
    const asked = JSON.stringify([this.#address(), this.#secret()]);
    for (const control of [this.#url, this.#key]) setFieldError(control, "");
    fill(this.#general);
    if (asked === this.#checked || asked === this.#accepted) return false;
    if (service.name === URL_SERVICE && !/^https?:\/\/[^/]/.test(this.#address())) this.#fail(this.#url, t("assistant.url.wrong"));
    if (service.needs_key && !this.#secret()) this.#fail(this.#key, t("assistant.key.missing"));
    this.#said.textContent = t("assistant.asking", { title: service.title });
    try {
      const { models } = await post("/assistant/models", { base_url: this.#address(), api_key: this.#secret() }, { signal: this.signal });
      if (service !== this.#service) throw stop();
      this.#checked = asked;
      const said = models?.length ? "key.works.models" : models ? "key.works" : "key.unknown";
      this.#said.textContent = t(`assistant.${said}`, { title: service.title, count: models?.length ?? 0 });
      if (this.kind === "agent") this.#drawModel(models);
      if (service.name === "ollama" && models && !models.length) this.#fail(null, t("assistant.ollama.empty", { model: service.model }), asked);
      return true;
    } catch (error) {
      if (service === this.#service) this.#said.textContent = "";
      if (!(error instanceof ApiError) || error.status !== 422) throw error;
      if (service !== this.#service) throw stop();
      const { reason } = error.body;
      if (reason === "no_key") this.#fail(this.#key, t("assistant.key.refused", { title: service.title }));
      const words = service.name === "ollama" ? "ollama.absent" : has(`assistant.reason.${reason}`) ? `reason.${reason}` : "reason.other";
      this.#fail(service.name === URL_SERVICE ? this.#url : null, t(`assistant.${words}`, { title: service.title, url: this.#address(), detail: error.message }), asked);
      throw error;
    }
  }

  /**
   * Says what is wrong, at a field or below the service; `asked`: it may be taken all the same.
   * @param {HTMLInputElement | null} control @param {string} words @param {string} [asked] @returns {never}
   */
  #fail(control, words, asked) {
    this.#said.textContent = "";
    const anyway = asked && button(t("assistant.anyway"), () => {
      this.#accepted = asked;
      this.#drawModel(null);
      for (const each of [this.#url, this.#key]) setFieldError(each, "");
      fill(this.#general);
      this.#name.focus();
    }, { small: true });
    if (control) {
      setFieldError(control, words);
      if (this.element.contains(document.activeElement) || document.activeElement?.matches("[type=submit]")) control.focus();
      fill(this.#general, anyway || null);
    } else {
      fill(this.#general, h("p", { class: "field-error", role: "alert" }, words), anyway || null);
    }
    throw stop();
  }

  /** A list of models, or a field for its name. @param {string[] | null} models */
  #drawModel(models) {
    const usual = this.#usual();
    if (!models?.length) {
      this.#name.value = usual;
      fill(this.#list, field(t("assistant.model"), this.#name));
      return;
    }
    const local = this.#service?.name === "ollama";
    const start = usual && (!local || models.includes(usual)) ? usual : models[0];
    const all = models.includes(start) ? models : [start, ...models];
    fill(this.#select, ...[...all.map((each) => h("option", { value: each }, each)), h("option", { value: OTHER }, t("assistant.model.another"))]);
    this.#select.value = start;
    fill(this.#list, field(t("assistant.model"), this.#select));
  }
}

/** The row that an entry stands in. @param {any} entry @param {import("./parts.js").Choices} choices */
export function rowOf(entry, choices) {
  if (!entry) return "";
  return entry.name === "openai" ? serviceOf(entry, choices)?.name ?? URL_SERVICE : entry.name;
}
