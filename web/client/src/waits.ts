// Waiting before something that failed is tried again: longer after each failure.

const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

export class Waits {
  #failures = 0;
  #again: (() => void) | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Waits, then calls it. One call waits at a time: the last one. */
  before(again: () => void, atLeastMs = 0): void {
    const wait = Math.max(atLeastMs, Math.min(FIRST_MS * 2 ** this.#failures++, LONGEST_MS));
    clearTimeout(this.#timer);
    this.#again = again;
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#call(), wait);
  }

  /** It went well: nothing is waited for, and the next wait is short. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#failures = 0;
    this.#again = null;
  }

  /** Calls at once what waits, also what was stopped. */
  hurry(): void {
    clearTimeout(this.#timer);
    this.#isStopped = false;
    this.#failures = 0;
    this.#call();
  }

  /** Nothing is called any more until somebody hurries. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#isStopped = true;
  }

  #call(): void {
    const again = this.#again;
    this.#again = null;
    again?.();
  }
}
