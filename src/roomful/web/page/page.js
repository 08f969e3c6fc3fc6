// The page. First the fold: a space made of a snapshot and the events since, as in domain/fold.py. Then what
// is drawn of it. Whatever came from others is put in as text, never as markup.

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

function newText({ partId, reasoning, toolCallId }) {
  const part = { type: reasoning ? "reasoning" : "text", id: partId, text: "", status: "streaming" };
  return toolCallId && !reasoning ? { ...part, toolCallId } : part;
}

function newCall({ partId, toolCallId, toolName, runId, showsArgs, showsResult, customUI, targetEntityId }) {
  const part = { type: "tool_call", id: partId, toolCallId, toolName, runId, status: "streaming" };
  if (showsArgs) part.args = {};
  if (showsResult) part.result = null;
  if (customUI) part.customUI = customUI;
  if (targetEntityId) part.targetEntityId = targetEntityId;
  return part;
}

// What is drawn.

const $ = (id) => document.getElementById(id);
const EVENTS = [
  "snapshot", "smartSpace.message", "text-start", "text-delta", "text-end", "tool-call.start", "tool-input-delta",
  "tool-call", "tool-call.complete", "tool-call.error", "run.started", "run.waiting_tool", "run.waiting_reply",
  "run.completed", "run.failed", "run.canceled", "member.joined", "member.left", "part.reset",
];
const house = { me: null, spaces: new Map(), views: new Map(), here: null, source: null, last: "", dirty: new Set() };

function node(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

async function ask(method, path, body) {
  const headers = body ? { "content-type": "application/json" } : {};
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const content = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw Object.assign(new Error(content.detail), { status: answer.status });
  return content;
}

const say = (words) => { $("line").textContent = words; };
const attempt = (answer) => answer.then(() => say(""), (error) => say(error.message));

function start() {
  const instead = (action) => (event) => { event.preventDefault(); action(); };
  const isSend = ({ key, shiftKey, isComposing }) => key === "Enter" && !shiftKey && !isComposing;
  $("sign-in").addEventListener("submit", instead(() => signIn($("token").value.trim())));
  $("sign-out").addEventListener("click", () => ask("DELETE", "/api/session").finally(() => location.reload()));
  $("composer").addEventListener("submit", instead(send));
  $("text").addEventListener("keydown", (event) => { if (isSend(event)) instead(send)(event); });
  document.addEventListener("visibilitychange", markRead);
  ask("GET", "/api/session").then(enter, showDoor);
}

async function showDoor() {
  [$("house").hidden, $("door").hidden] = [true, false];
  const people = await ask("GET", "/api/demo").catch(() => []);
  const choose = ({ name, token }) => node("button", { click: () => signIn(token) }, `Come in as ${name}`);
  $("people").replaceChildren(...people.map(choose));
}

function signIn(token) {
  ask("POST", "/api/session", { token }).then(enter, (error) => { $("door-says").textContent = error.message; });
}

function enter(me) {
  house.me = me;
  $("me").textContent = me.name;
  $("token").value = "";
  [$("house").hidden, $("door").hidden] = [false, true];
  listen();
}

function listen(last = "") {
  house.source?.close();
  const query = last ? `&lastEventId=${encodeURIComponent(last)}` : "";
  const source = house.source = new EventSource(`/api/stream?args=ops${query}`);
  for (const name of EVENTS) source.addEventListener(name, (event) => hear(name, event));
  source.onopen = () => say("");
  source.onerror = () => {
    say("reconnecting…");
    if (source.readyState === EventSource.CLOSED && source === house.source) setTimeout(comeBack, 2000);
  };
}

function comeBack() {
  const wait = ({ status }) => (status === 401 ? showDoor() : setTimeout(comeBack, 2000));
  ask("GET", "/api/session").then(() => listen(house.last), wait);
}

function hear(name, event) {
  if (event.lastEventId) house.last = event.lastEventId;
  const data = JSON.parse(event.data);
  if (name === "snapshot") return begin(data);
  const isMe = data.member?.entityId === house.me.id;
  const view = house.views.get(data.spaceId);
  if (!view || (isMe && name === "member.left") || data.truncated) return listen(); // begin anew, with a snapshot
  const isNew = name === "smartSpace.message" && !view.messages.has(data.message.id);
  const changed = view.apply(name, data);
  const space = house.spaces.get(data.spaceId);
  if (isNew && data.message.entityId !== house.me.id && space) space.unread += 1;
  if (name === "run.failed" && data.spaceId === house.here) say(`${nameOf(view, data.entityId)}: ${data.error.message}`);
  if (changed && data.spaceId === house.here) house.dirty.add(changed);
  drawSoon();
}

function begin({ spaces, messages, members, runs }) {
  house.spaces = new Map(spaces.map((space) => [space.id, space]));
  house.views = new Map();
  const there = (nouns, id) => nouns.filter((noun) => noun.spaceId === id);
  for (const { id } of spaces) {
    const view = new View();
    view.load(there(messages, id), there(members, id), there(runs, id));
    house.views.set(id, view);
  }
  const known = [house.here, location.hash.slice(1)].find((id) => house.spaces.has(id));
  visit(known ?? spaces[0]?.id ?? null);
}

function visit(id) {
  house.here = id;
  if (id) history.replaceState(null, "", `#${id}`);
  $("messages").replaceChildren();
  house.dirty = new Set(house.views.get(id)?.messages.keys());
  draw();
  $("messages").scrollTop = $("messages").scrollHeight;
}

let drawing = 0;
function drawSoon() {
  drawing ||= requestAnimationFrame(() => { drawing = 0; draw(); });
}

function draw() {
  const view = house.views.get(house.here);
  const space = house.spaces.get(house.here);
  if (view && space) {
    if (!document.hidden) space.unread = 0;
    drawMessages(view);
    $("space-name").textContent = space.name;
    $("members").textContent = [...view.members.values()].map((member) => member.name).join(", ");
    $("working").replaceChildren(...[...view.runs.values()].map((run) => drawRun(view, run)));
  }
  $("composer").hidden = !space || space.role === "reader";
  $("spaces").replaceChildren(...[...house.spaces.values()].map(drawSpace));
  markRead();
}

function drawSpace({ id, name, unread }) {
  const count = unread ? node("span", { class: "unread" }, String(unread)) : undefined;
  const isHere = id === house.here && "page";
  return node("li", {}, node("button", { "aria-current": isHere, click: () => visit(id) }, name, count));
}

const nameOf = (view, entityId) => view.members.get(entityId)?.name ?? entityId;

function drawRun(view, { runId, entityId, status }) {
  const doing = status.startsWith("waiting") ? "waits for an answer" : "is working";
  const stop = node("button", { click: () => attempt(ask("POST", `/api/runs/${runId}/cancel`)) }, "Stop");
  return node("span", {}, `${nameOf(view, entityId)} ${doing} `, stop);
}

function drawMessages(view) {
  const box = $("messages");
  const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  for (const message of view.list()) {
    if (!house.dirty.has(message.id)) continue;
    const old = box.querySelector(`[data-id="${CSS.escape(message.id)}"]`);
    if (old?.querySelector("input:focus")) continue; // somebody is typing there
    house.dirty.delete(message.id);
    const next = [...box.children].find((each) => Number(each.dataset.seq) > message.seq) ?? null;
    if (old) old.replaceWith(drawMessage(view, message));
    else box.insertBefore(drawMessage(view, message), next);
  }
  if (isAtEnd) box.scrollTop = box.scrollHeight;
}

function drawMessage(view, message) {
  const time = new Date(message.createdAt).toLocaleTimeString([], { timeStyle: "short" });
  const gone = node("div", { class: "reasoning" }, "deleted");
  const parts = message.deleted ? [gone] : message.parts.map((part) => drawPart(view, part));
  const author = node("b", { dir: "auto" }, nameOf(view, message.entityId));
  const fixed = { "data-id": message.id, "data-seq": message.seq, class: message.entityId === house.me.id && "mine" };
  const bubble = node("div", { class: "bubble" }, ...parts);
  return node("article", fixed, node("header", {}, author, node("time", {}, time)), bubble);
}

function drawPart(view, part) {
  if (part.type === "tool_call") return drawCard(view, part);
  return node("div", { class: `text ${part.type} ${part.status}`, dir: "auto" }, part.text);
}

function drawCard(view, part) {
  const args = part.args ?? {};
  const isProduct = typeof args.name === "string" && typeof args.price === "number";
  const isWaiting = part.status === "waiting";
  const settled = part.answeredBy ? `answered by ${nameOf(view, part.answeredBy)}` : part.status;
  const state = node("span", { class: "state" }, isProduct && isWaiting ? "" : settled);
  const below = [];
  if (part.error) below.push(node("div", { class: "error" }, part.error));
  if (isWaiting) below.push(node("div", { class: "actions" }, ...choices(part, isProduct)));
  if (isProduct) {
    const price = args.price.toLocaleString("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 0 });
    const title = node("span", {}, node("b", {}, args.name), " — ", node("span", { class: "price" }, price));
    return node("div", { class: "card product" }, node("header", {}, title, state), ...below);
  }
  const shown = part.result == null ? args : { ...args, result: part.result };
  const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const row = ([name, value]) => [node("dt", {}, name), node("dd", { dir: "auto" }, asText(value))];
  const rows = Object.entries(shown).flatMap(row);
  const head = node("header", {}, node("b", {}, part.toolName), state);
  return node("div", { class: "card" }, head, node("dl", {}, ...rows), ...below);
}

function choices(part, isProduct) {
  const { runId, toolCallId } = part;
  const answer = (result) => attempt(ask("POST", `/api/runs/${runId}/tool-results`, { toolCallId, result }));
  const choice = (words, result) => node("button", { click: () => answer(result) }, words);
  if (isProduct) return [choice("Select", { selected: true })];
  const said = node("input", { placeholder: "or say it in words", dir: "auto", keydown: (event) => {
    if (event.key === "Enter" && said.value.trim()) answer(asValue(said.value.trim()));
  } });
  return [choice("Yes", { approved: true }), choice("No", { approved: false }), said];
}

function asValue(words) {
  try { return JSON.parse(words); } catch { return { text: words }; }
}

function send() {
  const text = $("text").value;
  if (!text.trim()) return;
  const clientMessageId = crypto.getRandomValues(new Uint32Array(4)).join("-");
  $("text").value = "";
  const keep = (error) => { $("text").value ||= text; throw error; };
  attempt(ask("POST", `/api/spaces/${house.here}/messages`, { text, clientMessageId }).catch(keep));
}

let marked = "";
function markRead() {
  const last = house.views.get(house.here)?.list().at(-1);
  if (document.hidden || !last || last.id === marked) return;
  marked = last.id;
  ask("POST", `/api/spaces/${house.here}/read`, { messageId: last.id }).catch(() => { marked = ""; });
}

if (globalThis.document) start();
