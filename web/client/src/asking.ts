// One gateway, asked over HTTP. Without a token, the browser's cookie says who asks.

import { parseJson } from "./json.ts";
import type { Entity, Found, Inspection, Json, Message, MessagePage, Run, Space } from "./wire.ts";

/** A refusal, with a sentence that a person can act on. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  /** Of a card that somebody else settled first: what became of it. */
  readonly outcome: Outcome | undefined;
  /** Seconds after which to try again, where the gateway says so. */
  readonly retryAfter: number | undefined;

  constructor(status: number, code: string, detail: string, outcome?: Outcome, retryAfter?: number) {
    super(detail);
    this.status = status;
    this.code = code;
    this.outcome = outcome;
    this.retryAfter = retryAfter;
  }
}

export interface Outcome { status: string; result: Json; error?: string; answeredBy?: string; answeredAt?: string }
export interface NewMessage {
  text: string;
  mentions?: string[];
  clientMessageId?: string;
  replyTo?: string;
  attachments?: string[];
}
export interface Posted { message: Message; runs: { runId: string; agentId: string }[] }
export interface BlobMade { blobId: string; url: string; mediaType: string; size: number }
export type PageQuery = { before?: number; after?: number; limit?: number; q?: string };
export interface ClientOptions {
  /** Where the gateway is; the page's own origin if left out. */
  url?: string;
  token?: string;
  fetch?: typeof fetch;
}

export class Client {
  readonly url: string;
  #token: string | undefined;
  #fetch: typeof fetch;

  constructor({ url = "", token, fetch: fetcher }: ClientOptions = {}) {
    this.url = url.replace(/\/$/, "");
    this.#token = token;
    this.#fetch = fetcher ?? ((...asked) => fetch(...asked));
  }

  /** The answer as it comes. A refusal is thrown as a Problem, a lost line as the TypeError of fetch. */
  async open(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#token) headers.set("authorization", `Bearer ${this.#token}`);
    const answer = await this.#fetch(this.url + path, { ...init, method, headers });
    if (!answer.ok) throw await problemOf(answer);
    return answer;
  }

  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const init = body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await this.open(method, path, init);
    return (answer.status === 204 ? null : parseJson(await answer.text())) as T;
  }

  me = () => this.ask<Entity>("GET", "/api/session");
  spaces = () => this.ask<{ spaces: Space[] }>("GET", "/api/spaces");
  post = (spaceId: string, message: NewMessage) =>
    this.ask<Posted>("POST", `/api/spaces/${spaceId}/messages`, message);
  edit = (spaceId: string, messageId: string, text: string) =>
    this.ask<Message>("PATCH", `/api/spaces/${spaceId}/messages/${messageId}`, { text });
  remove = (spaceId: string, messageId: string) =>
    this.ask<null>("DELETE", `/api/spaces/${spaceId}/messages/${messageId}`);
  read = (spaceId: string, messageId: string) =>
    this.ask<null>("POST", `/api/spaces/${spaceId}/read`, { messageId });
  messages = (spaceId: string, query: PageQuery = {}) =>
    this.ask<MessagePage>("GET", `/api/spaces/${spaceId}/messages${asQuery(query)}`);
  search = (q: string, limit = 20) =>
    this.ask<{ results: Found[] }>("GET", `/api/search${asQuery({ q, limit })}`);
  runs = (query: { agentId?: string; spaceId?: string; status?: string; limit?: number } = {}) =>
    this.ask<{ runs: Run[] }>("GET", `/api/runs${asQuery(query)}`);
  /** For those who own the run's agent. */
  inspect = (runId: string) => this.ask<Inspection>("GET", `/api/runs/${runId}/inspection`);
  answer = (runId: string, toolCallId: string, body: { result: Json } | { close: true }) =>
    this.ask<{ status: string }>("POST", `/api/runs/${runId}/tool-results`, { toolCallId, ...body });
  cancel = (runId: string) => this.ask<Run>("POST", `/api/runs/${runId}/cancel`);
  retry = (runId: string) => this.ask<Run>("POST", `/api/runs/${runId}/retry`);

  async upload(file: Blob & { name?: string }): Promise<BlobMade> {
    const headers = { "content-type": file.type || "application/octet-stream" };
    const answer = await this.open("POST", `/api/blobs${asQuery({ name: file.name })}`, { headers, body: file });
    return await answer.json() as BlobMade;
  }
}

function asQuery(fields: { [name: string]: string | number | undefined }): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

async function problemOf(answer: Response): Promise<Problem> {
  const told = await answer.json().catch(() => ({})) as { code?: string; detail?: string; outcome?: Outcome };
  const detail = told.detail ?? `The gateway answered ${answer.status}.`;
  const after = Number(answer.headers.get("retry-after") ?? NaN);
  return new Problem(answer.status, told.code ?? "internal", detail, told.outcome, after >= 0 ? after : undefined);
}
