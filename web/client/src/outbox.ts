// Messages on their way out. Each is kept until the gateway has it, over reloads and lost lines; its own id
// makes sure that it is said once, however often it is sent.

import { Problem, type Client, type NewMessage, type Posted } from "./asking.ts";

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
    void this.flush();
    return outgoing;
  }

  again(clientMessageId: string): void {
    this.#save(this.#waiting.map((each) => (each.clientMessageId === clientMessageId ? untried(each) : each)));
    void this.flush();
  }

  drop(clientMessageId: string): void {
    const left = this.#waiting.filter((each) => each.clientMessageId !== clientMessageId);
    if (left.length < this.#waiting.length) this.#save(left);
  }

  /** Sends what can be sent, in order. To be called again when the line is back. */
  async flush(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      for (let next = this.#next(); next; next = this.#next()) if (!(await this.#send(next))) return;
    } finally {
      this.#isSending = false;
    }
  }

  #next(): Outgoing | undefined {
    return this.#waiting.find((each) => each.problem === undefined);
  }

  /** Whether to go on with the next one. */
  async #send(outgoing: Outgoing): Promise<boolean> {
    const { clientMessageId, spaceId, message } = outgoing;
    try {
      this.#posted(await this.#client.post(spaceId, message));
      this.drop(clientMessageId);
      return true;
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) return false;
      if (error.status === 429) {
        setTimeout(() => void this.flush(), 1000 * (error.retryAfter ?? 1));
        return false;
      }
      const refused = { ...outgoing, problem: error.message };
      this.#save(this.#waiting.map((each) => (each.clientMessageId === clientMessageId ? refused : each)));
      return true;
    }
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
