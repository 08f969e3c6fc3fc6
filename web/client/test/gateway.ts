// A gateway of a few lines: what it streams and what it answers is for the test to say.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const PATIENCE_MS = 8_000;

export interface Asked { method: string; path: string; headers: IncomingMessage["headers"]; body: any }

export class Gateway {
  asked: Asked[] = [];
  streams: ServerResponse[] = [];
  /** What a request other than a stream is answered with; `cut` gives no answer. */
  answer: (asked: Asked) => [number, unknown] | "cut" = () => [200, {}];
  /** The status of a stream's answer; `cut` lets it get nowhere. */
  line: number | "cut" = 200;
  #server: Server = createServer((request, response) => void this.#serve(request, response));
  #waiting = new Set<() => void>();

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  send(bytes: string | Uint8Array): void {
    this.streams.at(-1)!.write(bytes);
  }

  tell(name: string, data: unknown, id = ""): void {
    this.send(`${id && `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  cut(): void {
    this.line = "cut";
    for (const stream of this.streams) stream.destroy();
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async until(holds: () => boolean): Promise<void> {
    const end = Date.now() + PATIENCE_MS;
    while (!holds()) {
      if (Date.now() > end) throw new Error(`still not so: ${holds}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 20);
        this.#waiting.add(() => { clearTimeout(timer); resolve(); });
      });
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const piece of request) body += piece;
    const { method = "", url: path = "", headers } = request;
    const isStream = path.startsWith("/api/stream");
    if (this.line === "cut") return void response.destroy();
    const asked = { method, path, headers, body: body ? JSON.parse(body) : null };
    this.asked.push(asked);
    if (isStream && this.line === 200) {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      this.streams.push(response);
    } else {
      answerWith(response, isStream ? [this.line as number, {}] : this.answer(asked));
    }
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

function answerWith(response: ServerResponse, answer: [number, unknown] | "cut"): void {
  if (answer === "cut") return void response.destroy();
  const [status, said] = answer;
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(said));
}
