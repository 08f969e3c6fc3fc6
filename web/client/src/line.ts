// A line to an event stream that is taken up again where it was cut.

import { Problem, type Client } from "./asking.ts";
import { FrameReader, type Frame } from "./sse.ts";

/** `lost` is said after the first try to come back failed: a short cut is nobody's concern. */
export type LineState = "connecting" | "open" | "lost" | "refused";

const SILENCE_MS = 25_000; // the gateway says something every 15 s
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

export interface Ears {
  /** Everything that came in one piece. Whatever is thrown here, everything is read anew. */
  hear(frames: Frame[]): void;
  changed(state: LineState): void;
}

/** What came cannot be folded: forget the position and ask for a snapshot. */
export class BeginAnew extends Error {}

export class Line {
  #client: Client;
  #path: string;
  #ears: Ears;
  #position = "";
  #tries = 0;
  #anews = 0;
  #state: LineState = "connecting";
  #stopped = new AbortController();
  #attempt = new AbortController();
  #wake: () => void = () => {};

  constructor(client: Client, path: string, ears: Ears) {
    this.#client = client;
    this.#path = path;
    this.#ears = ears;
  }

  get state(): LineState {
    return this.#state;
  }

  start(): void {
    this.#stopped = new AbortController();
    const { signal } = this.#stopped;
    globalThis.addEventListener?.("online", () => this.#wake(), { signal });
    globalThis.addEventListener?.("offline", () => this.#cut(), { signal });
    void this.#follow(signal);
  }

  stop(): void {
    this.#stopped.abort();
    this.#attempt.abort();
    this.#wake();
  }

  #cut(): void {
    this.#tries = Math.max(this.#tries, 1);
    this.#attempt.abort();
  }

  async #follow(isOver: AbortSignal): Promise<void> {
    while (!isOver.aborted) {
      try {
        await this.#listen();
      } catch (error) {
        if (error instanceof Problem && (error.status === 401 || error.status === 403)) return this.#say("refused");
        if (error instanceof BeginAnew) this.#beginAnew();
        // Whatever else it was, the line is gone, and will be tried again.
      }
      if (this.#tries > 0) this.#say("lost");
      await this.#pause();
    }
  }

  #beginAnew(): void {
    this.#position = "";
    this.#tries = this.#anews++; // a snapshot that cannot be folded either is asked for less and less often
  }

  async #listen(): Promise<void> {
    this.#attempt = new AbortController();
    const headers = { accept: "text/event-stream", ...(this.#position && { "last-event-id": this.#position }) };
    const watch = new Watch(this.#attempt);
    try {
      const answer = await this.#client.open("GET", this.#path, { headers, signal: this.#attempt.signal });
      this.#tries = 0;
      this.#say("open");
      const reader = new FrameReader();
      for await (const bytes of pieces(answer)) {
        watch.renew();
        this.#hear(reader.read(bytes));
      }
    } finally {
      watch.end();
      this.#attempt.abort();
    }
  }

  #hear(frames: Frame[]): void {
    if (frames.length === 0 || this.#stopped.signal.aborted) return;
    try {
      this.#ears.hear(frames);
    } catch (error) {
      if (!(error instanceof BeginAnew)) console.error("what came cannot be folded", error);
      throw new BeginAnew();
    }
    this.#anews = 0;
    const last = frames.findLast((frame) => frame.id !== null);
    if (last?.id) this.#position = last.id;
  }

  #say(state: LineState): void {
    if (state === this.#state || this.#stopped.signal.aborted) return;
    this.#state = state;
    this.#ears.changed(state);
  }

  async #pause(): Promise<void> {
    const longest = Math.min(FIRST_WAIT_MS * 2 ** this.#tries++, LONGEST_WAIT_MS);
    const wait = longest * (0.5 + Math.random() / 2); // many pages come back after one restart
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, wait);
      this.#wake = () => { clearTimeout(timer); resolve(); };
    });
  }
}

/** Ends a try that nobody speaks on any more. */
class Watch {
  #attempt: AbortController;
  #timer: ReturnType<typeof setTimeout>;

  constructor(attempt: AbortController) {
    this.#attempt = attempt;
    this.#timer = this.#set();
  }

  #set() {
    return setTimeout(() => this.#attempt.abort(), SILENCE_MS);
  }

  renew(): void {
    this.end();
    this.#timer = this.#set();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

async function* pieces(answer: Response): AsyncGenerator<Uint8Array> {
  const reader = answer.body!.getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
}

