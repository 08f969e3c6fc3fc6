// The fold: a space made of a snapshot and the events since, as in domain/fold.py.

const ENDED = new Set(["completed", "failed", "canceled"]);
const keyOf = (part) => (part.type === "tool_call" ? part.toolCallId : part.id);
const points = (text) => Array.from(text);

// A model may name an argument __proto__: only what is an object's own is read or written.
const own = (holder, key) => (Object.hasOwn(holder, key) ? holder[key] : undefined);
const put = (holder, key, value) =>
  Object.defineProperty(holder, key, { value, enumerable: true, writable: true, configurable: true });

function applyOps(args, ops) {
  const root = [args];
  for (const [kind, path, value] of ops) {
    let parent = root;
    let key = 0;
    for (const step of path.split("/").slice(1)) {
      parent = own(parent, key) ?? own(put(parent, key, {}), key);
      key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    }
    put(parent, key, kind === "set" ? value : (own(parent, key) ?? "") + value);
  }
  return root[0];
}

export class View {
  messages = new Map();
  members = new Map();
  runs = new Map();
  #growing = new Map(); // by what deltas name: a text's part, a call

  load(messages, members, runs) {
    for (const message of messages) this.#keep(message);
    for (const member of members) this.members.set(member.entityId, member);
    for (const run of runs) this.runs.set(run.id, { runId: run.id, entityId: run.agentId, status: run.status });
  }

  list() {
    return [...this.messages.values()].sort((a, b) => a.seq - b.seq);
  }

  // Gives the id of the message that changed, if one did.
  apply(name, data) {
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
      case "member.joined": this.members.set(data.member.entityId, data.member); break;
      case "member.left": this.members.delete(data.member.entityId); break;
      default: if (name.startsWith("run.")) this.#runChanged(data);
    }
  }

  #keep(message) {
    this.messages.set(message.id, message);
    for (const part of message.parts) if (part.status === "streaming") this.#grow(part, message.id);
  }

  #grow(part, messageId) {
    this.#growing.set(keyOf(part), { part, messageId, length: points(part.text ?? "").length });
  }

  #more(key, add) {
    const growing = this.#growing.get(key);
    if (growing) add(growing);
    return growing?.messageId;
  }

  #addText({ partId, delta, offset }) {
    return this.#more(partId, (growing) => {
      const fresh = points(delta).slice(Math.max(0, growing.length - offset));
      growing.part.text += fresh.join("");
      growing.length += fresh.length;
    });
  }

  #addInput({ toolCallId, ops }) {
    return this.#more(toolCallId, ({ part }) => { part.args = applyOps(part.args, ops); });
  }

  #start(name, data) {
    const { messageId, spaceId, entityId, runId, seq, createdAt } = data;
    if (!this.messages.has(messageId)) {
      const fresh = { status: "open", role: "assistant", parts: [], mentions: [], attachments: [] };
      const fixed = { id: messageId, spaceId, entityId, runId, seq, createdAt, updatedAt: createdAt };
      this.messages.set(messageId, { ...fixed, ...fresh });
    }
    const { parts } = this.messages.get(messageId);
    if (parts.some((part) => part.id === data.partId)) return messageId;
    const part = name === "text-start" ? newText(data) : newCall(data);
    parts.push(part);
    this.#grow(part, messageId);
    return messageId;
  }

  #endText({ partId }) {
    return this.#more(partId, ({ part }) => {
      part.status = "complete";
      this.#growing.delete(partId);
    });
  }

  #settle(data, changes) {
    this.#growing.delete(data.toolCallId);
    const part = this.messages.get(data.messageId)?.parts.find((each) => each.id === data.partId);
    if (part?.type !== "tool_call") return;
    if ("args" in data) changes.args = data.args;
    for (const [field, value] of Object.entries(changes)) {
      if (value === undefined) delete part[field];
      else part[field] = value;
    }
    return data.messageId;
  }

  #growTrail(name, data) {
    const part = this.messages.get(data.messageId)?.parts.find((each) => each.id === data.partId);
    if (!part?.child) return;
    part.child = grown(part.child, name, data, data.path);
    return data.messageId;
  }

  #reset(partId) {
    for (const message of this.messages.values()) {
      const part = message.parts.find((each) => each.id === partId);
      if (!part) continue;
      part.status = "streaming";
      if (part.type !== "tool_call") part.text = "";
      else if ("args" in part) part.args = {};
      this.#grow(part, message.id);
      return message.id;
    }
  }

  #put(changed) {
    for (const part of changed.parts) this.#growing.delete(keyOf(part));
    const fresh = new Map(changed.parts.map((part) => [part.id, part]));
    const known = changed.deleted ? [] : this.messages.get(changed.id)?.parts ?? [];
    const merged = known.map((part) => fresh.get(part.id) ?? part);
    for (const part of known) fresh.delete(part.id);
    this.#keep({ ...changed, parts: changed.deleted ? [] : [...merged, ...fresh.values()] });
    return changed.id;
  }

  #runChanged({ runId, entityId, status }) {
    if (ENDED.has(status)) this.runs.delete(runId);
    else this.runs.set(runId, { runId, entityId, status });
  }
}

function newText({ partId, reasoning, toolCallId, step }) {
  const part = { type: reasoning ? "reasoning" : "text", id: partId, text: "", status: "streaming" };
  if (step !== undefined) part.step = step;
  return toolCallId && !reasoning ? { ...part, toolCallId } : part;
}

const CALL_FIELDS = ["customUI", "targetEntityId", "asks", "agentId", "step"];

function newCall({ partId, toolCallId, toolName, runId, showsArgs, showsResult, ...more }) {
  const part = { type: "tool_call", id: partId, toolCallId, toolName, runId, status: "streaming" };
  if (showsArgs) part.args = {};
  if (showsResult) part.result = null;
  for (const name of CALL_FIELDS) if (more[name] !== undefined) part[name] = more[name];
  return part;
}

// A delegation after something happened inside it, `path` calls further down.
function grown(child, name, data, path) {
  const calls = child.calls ?? [];
  if (path.length) {
    const [id, ...rest] = path;
    const below = (call) => ({ ...call, child: grown(call.child, name, data, rest) });
    return { ...child, calls: calls.map((call) => (call.toolCallId === id && call.child ? below(call) : call)) };
  }
  if (name === "subagent.text") {
    return { ...child, text: points(child.text).slice(0, data.offset).join("") + data.delta };
  }
  if (name === "subagent.end") return { ...data.child, calls };
  const at = calls.findIndex((call) => call.toolCallId === data.call.toolCallId);
  if (at < 0) return { ...child, calls: [...calls, data.call] };
  const known = calls[at].child ? { child: calls[at].child } : {};
  return { ...child, calls: calls.with(at, { ...known, ...data.call }) };
}
