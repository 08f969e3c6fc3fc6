// The page: what is drawn of the fold. Whatever came from others is put in as text, never as markup.

import { View } from "./fold.js";

const $ = (id) => document.getElementById(id);
const EVENTS = [
  "snapshot", "smartSpace.message", "text-start", "text-delta", "text-end", "tool-call.start", "tool-input-delta",
  "tool-call", "tool-call.complete", "tool-call.error", "run.started", "run.waiting_tool", "run.waiting_reply",
  "run.completed", "run.failed", "run.canceled", "member.joined", "member.left", "part.reset", "subagent.call",
  "subagent.text", "subagent.end",
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
  const doing = { waiting_tool: "waits", waiting_reply: "waits for a reply", queued: "comes next" }[status] ?? "is working";
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
  if (part.child) below.push(drawTrail(part.child));
  if (part.error) below.push(node("div", { class: "error" }, part.error));
  if (isWaiting) below.push(node("div", { class: "actions" }, ...choices(part, isProduct)));
  if (isProduct) {
    const price = args.price.toLocaleString("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 0 });
    const title = node("span", {}, node("b", {}, args.name), " — ", node("span", { class: "price" }, price));
    return node("div", { class: "card product" }, node("header", {}, title, state), ...below);
  }
  const shown = part.result == null || part.child ? args : { ...args, result: part.result };
  const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const row = ([name, value]) => [node("dt", {}, name), node("dd", { dir: "auto" }, asText(value))];
  const rows = Object.entries(shown).flatMap(row);
  const head = node("header", {}, node("b", {}, part.toolName), state);
  return node("div", { class: "card" }, head, node("dl", {}, ...rows), ...below);
}

function drawTrail({ name, status, text, calls }) {
  const line = (call) => node("li", {},
    node("b", {}, call.toolName), node("span", { class: "state" }, ` ${call.status}`),
    call.error ? node("div", { class: "error" }, call.error) : undefined,
    call.child ? drawTrail(call.child) : undefined);
  const words = text ? node("div", { class: "text", dir: "auto" }, text) : undefined;
  const head = node("header", {}, node("b", { dir: "auto" }, name), node("span", { class: "state" }, status));
  return node("div", { class: "trail" }, head, node("ol", {}, ...(calls ?? []).map(line)), words);
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
