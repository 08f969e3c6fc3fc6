// The older messages of one space, page by page. What fails is tried again by itself, less and less often.

import type { PageQuery } from "./asking.ts";
import type { SpaceView } from "./fold.ts";
import { Waits } from "./waits.ts";
import type { MessagePage } from "./wire.ts";

const PAGE = 50;
const LARGE_PAGE = 200;
const PROBLEM = "Older messages cannot be loaded just now.";

export class Older {
  hasMore: boolean;
  #view: SpaceView;
  #ask: (query: PageQuery) => Promise<MessagePage>;
  #changed: () => void;
  #isLoading = false;
  #problem: string | null = null;
  #downTo = Infinity;
  #underWay: Promise<void> | null = null;
  #isOver = false;
  #waits = new Waits();

  constructor(view: SpaceView, ask: (query: PageQuery) => Promise<MessagePage>, changed: () => void) {
    this.#view = view;
    this.#ask = ask;
    this.#changed = changed;
    this.hasMore = oldest(view) > 1 && view.messages.size > 0;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  get problem(): string | null {
    return this.#problem;
  }

  /** Ends with the try that is under way, or waits for its time, and does not fail: see `problem`. */
  load(downTo = Infinity): Promise<void> {
    this.#downTo = Math.min(downTo, this.#downTo);
    this.#underWay ??= this.#try();
    return this.#underWay;
  }

  /** What waits is tried at once. */
  resume(): void {
    this.#waits.hurry();
  }

  /** What waits is not tried before somebody resumes. */
  stop(): void {
    this.#waits.stop();
  }

  /** Nobody looks at these messages any more. Whoever waits for them is let go. */
  end(): void {
    this.#isOver = true;
    this.#waits.hurry();
  }

  async #try(): Promise<void> {
    if (this.#isOver) return;
    this.#isLoading = true;
    this.#changed();
    try {
      await this.#loadPages();
      this.#done();
    } catch {
      this.#failed();
    }
    this.#isLoading = false;
    this.#changed();
  }

  async #loadPages(): Promise<void> {
    do await this.#loadPage();
    while (!this.#isOver && this.hasMore && oldest(this.#view) > this.#downTo);
  }

  async #loadPage(): Promise<void> {
    const limit = this.#downTo < Infinity ? LARGE_PAGE : PAGE;
    const page = await this.#ask({ before: oldest(this.#view), limit });
    if (this.#isOver) return;
    this.#view.add(page.messages);
    this.hasMore = page.hasMore && page.messages.length > 0;
    this.#changed();
  }

  #done(): void {
    this.#downTo = Infinity;
    this.#underWay = null;
    this.#problem = null;
    this.#waits.reset();
  }

  #failed(): void {
    if (this.#isOver) return;
    this.#problem = PROBLEM;
    this.#underWay = new Promise((resolve) => this.#waits.before(() => resolve(this.#try())));
  }
}

export const oldest = (view: SpaceView): number => view.list()[0]?.seq ?? 1;
