// Where messages on their way out are kept over a reload. Each lies under a key of its own, since every window of
// one person has the same shelf: none may overwrite what another one said.

import type { Outgoing } from "./outbox.ts";

export type Shelf = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

export class Kept {
  #shelf: Shelf | undefined;
  #prefix: string;

  constructor(shelf: Shelf | undefined, owner: string) {
    this.#shelf = shelf;
    this.#prefix = `roomful.outbox.${owner}.`;
  }

  /** Everything that this person said in any window, in the order in which it was said. */
  all(): Outgoing[] {
    try {
      return this.#keys().flatMap((key) => this.#at(key)).sort(byTime);
    } catch {
      return []; // the shelf is closed
    }
  }

  put(outgoing: Outgoing): void {
    try {
      this.#shelf?.setItem(this.#keyOf(outgoing), JSON.stringify(outgoing));
    } catch {
      // The shelf is full or closed: what waits is kept as long as the page is open.
    }
  }

  remove(outgoing: Outgoing): void {
    try {
      this.#shelf?.removeItem(this.#keyOf(outgoing));
    } catch {
      // The shelf is closed.
    }
  }

  #keyOf({ clientMessageId }: Outgoing): string {
    return `${this.#prefix}${clientMessageId}`;
  }

  #keys(): string[] {
    const shelf = this.#shelf;
    const keys = Array.from({ length: shelf?.length ?? 0 }, (_, at) => shelf!.key(at) ?? "");
    return keys.filter((key) => key.startsWith(this.#prefix));
  }

  /** Somebody else's id may begin with mine and a dot: the key has to be the one that it would get from me. */
  #at(key: string): Outgoing[] {
    return [this.#read(key)].filter(isOutgoing).filter((outgoing) => this.#keyOf(outgoing) === key);
  }

  #read(key: string): unknown {
    try {
      return JSON.parse(this.#shelf?.getItem(key) ?? "null");
    } catch {
      return null;
    }
  }
}

const byTime = (one: Outgoing, other: Outgoing) => Date.parse(one.at) - Date.parse(other.at);

function isOutgoing(kept: unknown): kept is Outgoing {
  const { clientMessageId, spaceId, message, at = "" } = (kept ?? {}) as Partial<Outgoing>;
  return [clientMessageId, spaceId, message?.text].every((each) => typeof each === "string") && Date.parse(at) > 0;
}
