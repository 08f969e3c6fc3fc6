// The fold: a space made of a snapshot and the events since, as in roomful/domain/fold.py. What changes is
// replaced, never changed in place, so that whoever draws can compare by identity.

import { applyOps, type Op } from "./arguments.ts";
import { grownChild } from "./trails.ts";
import type {
  Child, Json, Member, Message, Part, PendingCall, Run, RunError, RunStatus, TextPart, ToolCallPart, Trigger,
  WaitsFor,
} from "./wire.ts";

const ENDED: ReadonlySet<RunStatus> = new Set(["completed", "failed", "canceled"]);
const WAITING: ReadonlySet<RunStatus> = new Set(["waiting_tool", "waiting_reply"]);
const points = (text: string) => Array.from(text);
const keyOf = (part: Part) => (part.type === "tool_call" ? part.toolCallId : part.id);

/** A run as a space hears of it. */
export interface RunState {
  runId: string;
  entityId: string;
  status: RunStatus;
  trigger?: Trigger;
  pendingToolCalls?: PendingCall[];
  waitsFor?: WaitsFor[];
  asksPeople?: boolean;
  error?: RunError;
  rootRunId?: string;
}

interface Growing { messageId: string; partId: string; length: number }

// Events are the gateway's own JSON: their shapes are in PROTOCOL, and each is read where it is folded.
export type EventData = { [field: string]: any };

export class SpaceView {
  messages = new Map<string, Message>();
  members = new Map<string, Member>();
  runs = new Map<string, RunState>();
  /** Runs that ended badly since this began, by id. */
  failures = new Map<string, RunState>();
  #growing = new Map<string, Growing>(); // by what deltas name: a text's part, a call
  #listed: Message[] | null = null;

  load(messages: Message[], members: Member[], runs: Run[]): void {
    for (const message of messages) this.#keep(message);
    for (const member of members) this.members.set(member.entityId, member);
    for (const run of runs) this.runs.set(run.id, runState(run));
  }

  /** Messages in their order. The same array until one of them changes. */
  list(): Message[] {
    this.#listed ??= [...this.messages.values()].sort((a, b) => a.seq - b.seq);
    return this.#listed;
  }

  /** Older messages, or the same ones read again. */
  add(messages: Message[]): void {
    for (const message of messages) this.#keep(message);
  }

  /** Gives the id of the message that changed, if one did. */
  apply(name: string, data: EventData): string | undefined {
    switch (name) {
      case "text-delta": return this.#addText(data);
      case "tool-input-delta": return this.#addInput(data);
      case "text-start":
      case "tool-call.start": return this.#start(name, data);
      case "text-end": return this.#endText(data);
      case "tool-call": return this.#settle(data, { status: "ready" });
      case "tool-call.complete": return this.#settle(data, { status: "complete", result: data.output });
      case "tool-call.error": return this.#settle(data, { status: "error", error: data.error });
      case "subagent.call":
      case "subagent.text":
      case "subagent.end": return this.#growTrail(name, data);
      case "part.reset": return this.#reset(data.partId);
      case "smartSpace.message": return this.#put(data.message);
      case "member.joined": this.members = new Map(this.members).set(data.member.entityId, data.member); break;
      case "member.left": this.members = lacking(this.members, data.member.entityId); break;
      default: if (name.startsWith("run.")) this.#runChanged(data);
    }
    return undefined;
  }

  #save(message: Message): string {
    this.messages.set(message.id, message);
    this.#listed = null;
    return message.id;
  }

  #keep(message: Message): void {
    this.#save(message);
    for (const part of message.parts) if (part.status === "streaming") this.#grow(part, message.id);
  }

  #grow(part: Part, messageId: string): void {
    const length = part.type === "tool_call" ? 0 : points(part.text).length;
    this.#growing.set(keyOf(part), { messageId, partId: part.id, length });
  }

  #change(messageId: string | undefined, partId: string, change: (part: Part) => Part): string | undefined {
    const message = messageId === undefined ? undefined : this.messages.get(messageId);
    const at = message?.parts.findIndex((part) => part.id === partId) ?? -1;
    if (!message || at < 0) return undefined;
    const known = message.parts[at]!;
    const changed = change(known);
    return changed === known ? undefined : this.#save({ ...message, parts: message.parts.with(at, changed) });
  }

  #addText({ partId, delta, offset }: EventData): string | undefined {
    const growing = this.#growing.get(partId);
    if (!growing) return undefined;
    const fresh = points(delta).slice(Math.max(0, growing.length - offset));
    growing.length += fresh.length;
    return this.#change(growing.messageId, growing.partId, (part) =>
      part.type === "tool_call" ? part : { ...part, text: part.text + fresh.join("") });
  }

  #addInput({ toolCallId, ops }: EventData): string | undefined {
    const growing = this.#growing.get(toolCallId);
    if (!growing) return undefined;
    return this.#change(growing.messageId, growing.partId, (part) =>
      part.type === "tool_call" ? { ...part, args: applyOps(part.args, ops as Op[]) } : part);
  }

  #start(name: string, data: EventData): string {
    const { messageId, spaceId, entityId, runId, seq, createdAt, partId } = data;
    const message: Message = this.messages.get(messageId) ?? {
      id: messageId, spaceId, entityId, runId, seq, createdAt, updatedAt: createdAt,
      status: "open", role: "assistant", parts: [], mentions: [], attachments: [],
    };
    if (message.parts.some((part) => part.id === partId)) return messageId;
    const part = name === "text-start" ? newText(data) : newCall(data);
    this.#grow(part, messageId);
    return this.#save({ ...message, parts: [...message.parts, part] });
  }

  #endText({ partId }: EventData): string | undefined {
    const growing = this.#growing.get(partId);
    this.#growing.delete(partId);
    return this.#change(growing?.messageId, partId, (part) => ({ ...part, status: "complete" }));
  }

  #settle(data: EventData, changes: Partial<ToolCallPart>): string | undefined {
    this.#growing.delete(data.toolCallId);
    if ("args" in data) changes.args = data.args;
    return this.#change(data.messageId, data.partId, (part) =>
      part.type === "tool_call" ? without({ ...part, ...changes }) : part);
  }

  #growTrail(name: string, data: EventData): string | undefined {
    return this.#change(data.messageId, data.partId, (part) =>
      part.type === "tool_call" && part.child
        ? { ...part, child: grownChild(part.child as Child, name, data, data.path) }
        : part);
  }

  #reset(partId: string): string | undefined {
    for (const message of this.messages.values()) {
      const part = message.parts.find((each) => each.id === partId);
      if (!part) continue;
      const empty = emptied(part);
      this.#grow(empty, message.id);
      return this.#change(message.id, partId, () => empty);
    }
    return undefined;
  }

  #put(changed: Message): string {
    for (const part of changed.parts) this.#growing.delete(keyOf(part));
    const fresh = new Map(changed.parts.map((part) => [part.id, part]));
    const known = changed.deleted ? [] : this.messages.get(changed.id)?.parts ?? [];
    const merged = known.map((part) => fresh.get(part.id) ?? part);
    for (const part of known) fresh.delete(part.id);
    this.#keep({ ...changed, parts: changed.deleted ? [] : [...merged, ...fresh.values()] });
    return changed.id;
  }

  #runChanged({ spaceId: _, ...told }: EventData): void {
    const run = told as RunState;
    if (run.status === "failed") this.failures = new Map(this.failures).set(run.runId, run);
    if (ENDED.has(run.status)) this.runs.delete(run.runId);
    else this.runs.set(run.runId, run);
  }
}

/** A run that was read, as it would have been announced: like run_as_told in roomful/domain/answers.py. */
export function runState({ id, agentId, status, trigger, pendingToolCalls, error, rootRunId, parentCallId }: Run): RunState {
  const awaited = WAITING.has(status) ? pendingToolCalls : [];
  const kinds = awaited.flatMap(({ waitsFor }) => waitsFor ?? []);
  return {
    runId: id, entityId: agentId, status, trigger,
    ...(pendingToolCalls.length > 0 && { pendingToolCalls }),
    ...(kinds.length > 0 && { waitsFor: kinds }),
    ...(awaited.length > 0 && { asksPeople: awaited.some(({ asksPeople }) => asksPeople) }),
    ...(error && { error }),
    ...(parentCallId && { rootRunId }),
  };
}

function lacking<T>(map: Map<string, T>, key: string): Map<string, T> {
  return new Map([...map].filter(([each]) => each !== key));
}

function without(part: ToolCallPart): ToolCallPart {
  const fields = Object.entries(part).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields) as unknown as ToolCallPart;
}

function emptied(part: Part): Part {
  if (part.type !== "tool_call") return { ...part, text: "", status: "streaming" };
  return { ...part, status: "streaming", ...("args" in part && { args: {} }) };
}

function newText({ partId, reasoning, toolCallId, step }: EventData): TextPart {
  return {
    type: reasoning ? "reasoning" : "text", id: partId, text: "", status: "streaming",
    ...(step !== undefined && { step }),
    ...(toolCallId && !reasoning && { toolCallId }),
  };
}

const CALL_FIELDS = ["customUI", "targetEntityId", "asks", "agentId", "step"];

function newCall({ partId, toolCallId, toolName, runId, showsArgs, showsResult, ...more }: EventData): ToolCallPart {
  const part: { [field: string]: Json } = { type: "tool_call", id: partId, toolCallId, toolName, runId, status: "streaming" };
  if (showsArgs) part.args = {};
  if (showsResult) part.result = null;
  for (const name of CALL_FIELDS) if (more[name] !== undefined) part[name] = more[name];
  return part as unknown as ToolCallPart;
}
