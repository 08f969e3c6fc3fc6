// Messages on their way out. Each is kept until the gateway has it, over reloads and lost lines; its own id
// makes sure that it is said once, however often it is sent.

import { Problem, type Client, type NewMessage, type Posted } from "./asking.ts";
import { Waits } from "./waits.ts";

export interface Outgoing {
  clientMessageId: string;
  spaceId: string;
  message: NewMessage;
  at: string;
  /** Why the gateway did not take it; until somebody tries again or gives it up. */
  problem?: string;
}

export interface Shelf { getItem(key: string): string | null; setItem(key: string, value: string): void }

export class Outbox {
  #client: Client;
  #shelf: Shelf | undefined;
  #key: string;
  #changed: () => void;
  #posted: (posted: Posted) => void;
  #waiting: Outgoing[];
  #isSending = false;
  #waits = new Waits();

  constructor(
    client: Client, shelf: Shelf | undefined, owner: string,
    tell: { changed(): void; posted(posted: Posted): void },
  ) {
    this.#client = client;
    this.#shelf = shelf;
    this.#key = `roomful.outbox.${owner}`;
    this.#changed = tell.changed;
    this.#posted = tell.posted;
    this.#waiting = read(shelf, this.#key);
  }

  for(spaceId: string): Outgoing[] {
    return this.#waiting.filter((each) => each.spaceId === spaceId);
  }

  put(spaceId: string, message: NewMessage): Outgoing {
    const clientMessageId = message.clientMessageId ?? newId();
    const outgoing = { clientMessageId, spaceId, message: { ...message, clientMessageId }, at: new Date().toISOString() };
    this.#save([...this.#waiting, outgoing]);
    void this.#flush();
    return outgoing;
  }

  again(clientMessageId: string): void {
    this.#save(this.#waiting.map((each) => (each.clientMessageId === clientMessageId ? untried(each) : each)));
    void this.#flush();
  }

  drop(clientMessageId: string): void {
    const left = this.#waiting.filter((each) => each.clientMessageId !== clientMessageId);
    if (left.length < this.#waiting.length) this.#save(left);
  }

  /** Sends at once what waits: the line is there. */
  resume(): void {
    this.#waits.hurry();
    void this.#flush();
  }

  /** What waits is kept, and not sent before somebody resumes. */
  stop(): void {
    this.#waits.stop();
  }

  async #flush(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    let wait: number | null;
    try {
      wait = await this.#sendAll();
    } finally {
      this.#isSending = false;
    }
    if (wait !== null) this.#waits.before(() => void this.#flush(), wait);
  }

  /** Sends what can be sent, in order. How long to wait at least before the next try; null if there is none. */
  async #sendAll(): Promise<number | null> {
    for (let next = this.#next(); next && !this.#waits.isStopped; next = this.#next()) {
      const wait = await this.#send(next);
      if (wait !== null) return wait;
      this.#waits.reset();
    }
    return null;
  }

  #next(): Outgoing | undefined {
    return this.#waiting.find((each) => each.problem === undefined);
  }

  async #send(outgoing: Outgoing): Promise<number | null> {
    const { clientMessageId, spaceId, message } = outgoing;
    try {
      this.#posted(await this.#client.post(spaceId, message));
      this.drop(clientMessageId);
    } catch (error) {
      if (!(error instanceof Problem)) return 0;
      if (error.status >= 500 || error.status === 429) return 1000 * (error.retryAfter ?? 0);
      const refused = { ...outgoing, problem: error.message };
      this.#save(this.#waiting.map((each) => (each.clientMessageId === clientMessageId ? refused : each)));
    }
    return null;
  }

  #save(waiting: Outgoing[]): void {
    this.#waiting = waiting;
    try {
      this.#shelf?.setItem(this.#key, JSON.stringify(waiting));
    } catch {
      // The shelf is full or closed: what waits is kept as long as the page is open.
    }
    this.#changed();
  }
}

function untried({ problem: _, ...outgoing }: Outgoing): Outgoing {
  return outgoing;
}

function read(shelf: Shelf | undefined, key: string): Outgoing[] {
  try {
    const kept: unknown = JSON.parse(shelf?.getItem(key) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
