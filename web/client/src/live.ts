// Everything that I may see, live: one stream over all my spaces, folded, and what I say on its way out.

import type { Client, NewMessage, Posted } from "./asking.ts";
import { SpaceView, type EventData, type RunState } from "./fold.ts";
import { parseJson } from "./json.ts";
import { BeginAnew, Line, type LineState } from "./line.ts";
import { Older, oldest } from "./older.ts";
import { Outbox, type Outgoing } from "./outbox.ts";
import type { Shelf } from "./shelf.ts";
import type { Frame } from "./sse.ts";
import type { Entity, Member, Message, Run, Space } from "./wire.ts";

export interface SpaceState {
  space: Space;
  messages: Message[];
  members: Map<string, Member>;
  runs: RunState[];
  /** Runs that ended badly, by id. */
  failures: Map<string, RunState>;
  outgoing: Outgoing[];
  /** There are older messages. */
  hasMore: boolean;
  isLoading: boolean;
  /** Why older messages cannot be loaded; it is tried again. */
  problem: string | null;
  /** Up to which message each member has read. */
  reads: Map<string, string>;
}

interface Held { view: SpaceView; space: Space; older: Older; reads: Map<string, string>; state: SpaceState | null }
interface There { spaceId: string }
interface Everything {
  messages: Message[];
  members: (Member & There)[];
  runs: (Run & There)[];
  spaces: Space[];
}

export interface LiveOptions {
  /** Where what waits to be sent is kept; the browser's localStorage if left out. */
  shelf?: Shelf;
  /** How listeners are told: once for everything that came in one go. */
  schedule?: (tell: () => void) => void;
}

export class Live {
  readonly client: Client;
  readonly me: Entity;
  #held = new Map<string, Held>();
  #line: Line;
  #outbox: Outbox;
  #listeners = new Set<() => void>();
  #schedule: (tell: () => void) => void;
  #isTelling = false;
  #spaces: SpaceState[] | null = null;
  #isReady = false;
  #isStopped = false;

  constructor(client: Client, me: Entity, { shelf, schedule }: LiveOptions = {}) {
    this.client = client;
    this.me = me;
    this.#schedule = schedule ?? soon;
    this.#line = new Line(client, "/api/stream?args=ops", {
      hear: (frames) => this.#hear(frames),
      changed: (state) => {
        if (state === "open") this.#resume();
        this.#tell();
      },
    });
    const tell = { changed: () => this.#touchAll(), posted: (posted: Posted) => this.#posted(posted) };
    this.#outbox = new Outbox(client, shelf ?? globalThis.localStorage, me.id, tell);
  }

  start(): void {
    if (this.#isStopped) this.#resume();
    this.#isStopped = false;
    this.#line.start();
  }

  stop(): void {
    this.#isStopped = true;
    this.#line.stop();
    this.#outbox.stop();
    for (const { older } of this.#held.values()) older.stop();
  }

  #resume(): void {
    this.#outbox.resume();
    for (const { older } of this.#held.values()) older.resume();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  line = (): LineState => this.#line.state;
  /** Whether a first snapshot is there. */
  isReady = (): boolean => this.#isReady;

  /** The same array until something changes. */
  spaces = (): SpaceState[] => {
    this.#spaces ??= [...this.#held.values()].map((held) => this.#state(held));
    return this.#spaces;
  };

  /** The same object until something in it changes. */
  space = (id: string): SpaceState | undefined => {
    const held = this.#held.get(id);
    return held && this.#state(held);
  };

  send(spaceId: string, message: NewMessage): Outgoing { return this.#outbox.put(spaceId, message); }
  sendAgain(clientMessageId: string): void { this.#outbox.again(clientMessageId); }
  giveUp(clientMessageId: string): void { this.#outbox.drop(clientMessageId); }

  /**
   * Loads older messages: one page, or as many as it takes to have the message with this `seq`. It does not fail:
   * the space's `problem` says when it did not work, and whoever calls again waits for the next try.
   */
  loadOlder(spaceId: string, downTo?: number): Promise<void> {
    return this.#held.get(spaceId)?.older.load(downTo) ?? Promise.resolve();
  }

  /** Tells the gateway how far I have read. */
  markRead(spaceId: string): void {
    const held = this.#held.get(spaceId);
    const last = held?.view.list().at(-1);
    if (!held || !last || held.reads.get(this.me.id) === last.id) return;
    held.reads.set(this.me.id, last.id);
    this.#set(held, { space: { ...held.space, unread: 0 } });
    this.client.read(spaceId, last.id).catch(() => held.reads.delete(this.me.id));
  }

  #state(held: Held): SpaceState {
    const { view, space, older, reads } = held;
    held.state ??= {
      space, reads,
      hasMore: older.hasMore,
      isLoading: older.isLoading,
      problem: older.problem,
      messages: view.list(),
      members: view.members,
      runs: [...view.runs.values()],
      failures: view.failures,
      outgoing: this.#outgoing(held),
    };
    return held.state;
  }

  #outgoing({ space, view }: Held): Outgoing[] {
    const waiting = this.#outbox.for(space.id);
    if (waiting.length === 0) return waiting;
    const said = new Set(view.list().slice(-200).map((message) => message.clientMessageId));
    return waiting.filter((each) => !said.has(each.clientMessageId));
  }

  #posted({ message }: Posted): void {
    const held = this.#held.get(message.spaceId);
    if (!held || held.view.messages.has(message.id)) return;
    held.view.apply("smartSpace.message", { message });
    this.#touch(held);
  }

  #hear(frames: Frame[]): void {
    for (const { name, data } of frames) {
      const told = parseJson(data) as EventData;
      if (told.truncated) throw new BeginAnew();
      if (name === "snapshot") this.#begin(told as Everything);
      else this.#fold(name, told);
    }
  }

  #begin({ spaces, messages, members, runs }: Everything): void {
    const before = this.#held;
    this.#held = new Map();
    const inSpace = <T extends There>(nouns: T[]) => Map.groupBy(nouns, (noun) => noun.spaceId);
    const [said, there, working] = [inSpace(messages), inSpace(members), inSpace(runs)];
    for (const space of spaces) {
      const view = new SpaceView();
      view.load(said.get(space.id) ?? [], there.get(space.id) ?? [], working.get(space.id) ?? []);
      this.#held.set(space.id, this.#hold(space, view));
      this.#reloadOlder(space.id, before.get(space.id));
    }
    for (const { older } of before.values()) older.end();
    this.#isReady = true;
    this.#touchAll();
  }

  #hold(space: Space, view: SpaceView): Held {
    const older = new Older(view, (query) => this.client.messages(space.id, query), () => this.#touch(held));
    const held: Held = { view, space, older, reads: new Map(), state: null };
    return held;
  }

  /** Whoever had scrolled up keeps what they read: it is loaded again, as it is now. */
  #reloadOlder(spaceId: string, before: Held | undefined): void {
    const held = this.#held.get(spaceId)!;
    if (!before) return;
    for (const [runId, failure] of before.view.failures) held.view.failures.set(runId, failure);
    const [had, has] = [oldest(before.view), oldest(held.view)];
    const isGap = (before.view.list().at(-1)?.seq ?? 0) < has - 1;
    if (had >= has || isGap) return;
    held.view.add(before.view.list().filter((message) => message.seq < has));
    void this.#refresh(spaceId, held, had, has);
  }

  async #refresh(spaceId: string, held: Held, downTo: number, from: number): Promise<void> {
    for (let before = from; before > downTo;) {
      const page = await this.client.messages(spaceId, { before, limit: 200 }).catch(() => null);
      if (!page || page.messages.length === 0 || this.#held.get(spaceId) !== held) return;
      held.view.add(page.messages);
      before = page.messages[0]!.seq;
      held.older.hasMore = page.hasMore;
      this.#touch(held);
    }
  }

  #fold(name: string, data: EventData): void {
    const held = this.#held.get(data.spaceId);
    const isMe = data.member?.entityId === this.me.id;
    if (!held || (isMe && name === "member.left")) throw new BeginAnew();
    if (name === "read") return this.#read(held, data);
    const known = held.view.messages.size;
    const changed = held.view.apply(name, data);
    if (changed !== undefined && held.view.messages.size > known) this.#arrived(held, changed);
    this.#touch(held);
  }

  #arrived(held: Held, messageId: string): void {
    const message = held.view.messages.get(messageId)!;
    if (message.clientMessageId) this.#outbox.drop(message.clientMessageId);
    if (message.entityId === this.me.id || message.seq <= (held.space.lastSeq ?? 0)) return;
    held.space = { ...held.space, unread: (held.space.unread ?? 0) + 1, lastSeq: message.seq };
  }

  #read(held: Held, { entityId, messageId }: EventData): void {
    held.reads = new Map(held.reads).set(entityId, messageId);
    if (entityId === this.me.id) {
      const seq = held.view.messages.get(messageId)?.seq ?? 0;
      const later = held.view.list().filter((message) => message.seq > seq && message.entityId !== this.me.id);
      held.space = { ...held.space, unread: later.length };
    }
    this.#touch(held);
  }

  #set(held: Held, changes: Partial<Held>): void {
    Object.assign(held, changes);
    this.#touch(held);
  }

  #touch(held: Held): void {
    held.state = null;
    this.#tell();
  }

  #touchAll(): void {
    for (const held of this.#held.values()) held.state = null;
    this.#tell();
  }

  #tell(): void {
    this.#spaces = null;
    if (this.#isTelling) return;
    this.#isTelling = true;
    this.#schedule(() => {
      this.#isTelling = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

/** Once a frame; in a window that nobody sees, now and then. */
function soon(tell: () => void): void {
  if (globalThis.document?.visibilityState === "visible") requestAnimationFrame(tell);
  else setTimeout(tell, 50);
}
