// Messages on their way out. Each is kept until the gateway has it, over reloads and lost lines; its own id
// makes sure that it is said once, however often it is sent.

import { Problem, type Client, type NewMessage, type Posted } from "./asking.ts";
import { Kept, type Shelf } from "./shelf.ts";
import { Waits } from "./waits.ts";

export interface Outgoing {
  clientMessageId: string;
  spaceId: string;
  message: NewMessage;
  at: string;
  /** Why the gateway did not take it; until somebody tries again or gives it up. */
  problem?: string;
}

export class Outbox {
  #client: Client;
  #kept: Kept;
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
    this.#kept = new Kept(shelf, owner);
    this.#changed = tell.changed;
    this.#posted = tell.posted;
    this.#waiting = this.#kept.all();
  }

  for(spaceId: string): Outgoing[] {
    return this.#waiting.filter((each) => each.spaceId === spaceId);
  }

  put(spaceId: string, message: NewMessage): Outgoing {
    const clientMessageId = message.clientMessageId ?? newId();
    const outgoing = { clientMessageId, spaceId, message: { ...message, clientMessageId }, at: this.#now() };
    this.#kept.put(outgoing);
    this.#set([...this.#waiting, outgoing]);
    void this.#flush();
    return outgoing;
  }

  again(clientMessageId: string): void {
    this.#replace(clientMessageId, untried);
    void this.#flush();
  }

  drop(clientMessageId: string): void {
    const dropped = this.#waiting.find((each) => each.clientMessageId === clientMessageId);
    if (!dropped) return;
    this.#kept.remove(dropped);
    this.#set(this.#waiting.filter((each) => each.clientMessageId !== clientMessageId));
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

  async #send({ clientMessageId, spaceId, message }: Outgoing): Promise<number | null> {
    try {
      this.#posted(await this.#client.post(spaceId, message));
      this.drop(clientMessageId);
    } catch (error) {
      if (!(error instanceof Problem)) return 0;
      if (error.status >= 500 || error.status === 429) return 1000 * (error.retryAfter ?? 0);
      this.#replace(clientMessageId, (each) => ({ ...each, problem: error.message }));
    }
    return null;
  }

  /** Later than everything that waits: the time is the order in which it is sent after a reload. */
  #now(): string {
    const last = this.#waiting.at(-1);
    return new Date(Math.max(Date.now(), last ? Date.parse(last.at) + 1 : 0)).toISOString();
  }

  #replace(clientMessageId: string, change: (outgoing: Outgoing) => Outgoing): void {
    this.#set(this.#waiting.map((each) => {
      if (each.clientMessageId !== clientMessageId) return each;
      const changed = change(each);
      this.#kept.put(changed);
      return changed;
    }));
  }

  #set(waiting: Outgoing[]): void {
    this.#waiting = waiting;
    this.#changed();
  }
}

function untried({ problem: _, ...outgoing }: Outgoing): Outgoing {
  return outgoing;
}

function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
