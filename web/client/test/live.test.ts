// A line that is cut, refused or garbled, and what is said meanwhile.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Client, Live, type Message } from "../src/index.ts";
import { Gateway } from "./gateway.ts";

const ME = { id: "ada", name: "Ada", kind: "human" } as const;
const SPACE = { id: "room", name: "Room", createdAt: "t", wake: "none", flow: "open", role: "member", unread: 0, lastSeq: 1 };
const MEMBERS = ["ada", "bob"].map((entityId) => ({ entityId, name: entityId, kind: "human", role: "member", spaceId: "room" }));

const said = (seq: number, text: string, more: Partial<Message> = {}): Message => ({
  id: `msg_${seq}`, spaceId: "room", entityId: "bob", seq, status: "final", role: "user", createdAt: "t", updatedAt: "t",
  mentions: [], attachments: [], parts: [{ type: "text", id: `prt_${seq}`, text, status: "complete" }], ...more,
});
const snapshot = (...messages: Message[]) => ({ spaces: [SPACE], members: MEMBERS, runs: [], messages });

class Shelf {
  kept = new Map<string, string>();
  getItem = (key: string) => this.kept.get(key) ?? null;
  setItem = (key: string, value: string) => void this.kept.set(key, value);
  removeItem = (key: string) => void this.kept.delete(key);
  key = (at: number) => [...this.kept.keys()][at] ?? null;
  get length() { return this.kept.size; }
}

async function scene(context: TestContext, shelf = new Shelf(), answer: [number, unknown] = [200, {}]) {
  const gateway = await new Gateway().start();
  gateway.answer = () => answer;
  const lives: Live[] = [];
  const open = () => {
    const live = new Live(new Client({ url: gateway.url, token: "secret" }), ME, { shelf, schedule: (tell) => tell() });
    lives.push(live);
    live.start();
    return live;
  };
  context.after(() => { for (const live of lives) live.stop(); gateway.stop(); });
  const live = open();
  await gateway.until(() => gateway.streams.length === 1);
  gateway.tell("snapshot", snapshot(said(1, "Hello")), "e.1");
  await gateway.until(() => live.isReady());
  const texts = (of = live) => of.space("room")!.messages.map(({ parts }) => (parts[0] as { text: string }).text);
  return { gateway, live, open, texts };
}

test("a cut line is taken up where it ended, with the token in a header", async (context) => {
  const { gateway, live, texts } = await scene(context);
  gateway.tell("smartSpace.message", { spaceId: "room", message: said(2, "More") }, "e.2");
  await gateway.until(() => texts().length === 2);
  gateway.streams[0]!.end();
  await gateway.until(() => gateway.streams.length === 2);
  gateway.tell("smartSpace.message", { spaceId: "room", message: said(3, "Again") }, "e.3");
  await gateway.until(() => texts().length === 3);

  const [first, second] = gateway.asked.filter(({ path }) => path.startsWith("/api/stream"));
  assert.deepEqual([first!.headers["last-event-id"], second!.headers["last-event-id"]], [undefined, "e.2"]);
  assert.equal(second!.headers.authorization, "Bearer secret");
  assert.ok(!second!.path.includes("secret"));
  assert.equal(live.space("room")!.space.unread, 2);
});

test("frames may be cut anywhere, also inside a character", async (context) => {
  const { gateway, texts } = await scene(context);
  const bytes = new TextEncoder().encode(
    `: still here\n\nid: e.2\nevent: smartSpace.message\ndata: ${JSON.stringify({ spaceId: "room", message: said(2, "é😀") })}\n\n`);
  for (const byte of bytes) gateway.send(Uint8Array.of(byte));
  await gateway.until(() => texts().length === 2);
  assert.deepEqual(texts(), ["Hello", "é😀"]);
});

test("the line is called lost only after a first try to come back failed", async (context) => {
  const { gateway, live } = await scene(context);
  const states: string[] = [];
  live.subscribe(() => states.at(-1) === live.line() || states.push(live.line()));
  gateway.cut();
  await gateway.until(() => live.line() === "lost");
  gateway.line = 200;
  await gateway.until(() => live.line() === "open");
  assert.deepEqual(states, ["lost", "open"]);
});

test("what is said on a lost line is kept over a reload and said once", async (context) => {
  const shelf = new Shelf();
  const { gateway, live, open } = await scene(context, shelf);
  gateway.cut();
  const { clientMessageId } = live.send("room", { text: "Are you there?" });
  await gateway.until(() => live.line() === "lost");
  assert.deepEqual(live.space("room")!.outgoing.map(({ message }) => message.text), ["Are you there?"]);
  live.stop();

  const posted = said(2, "Are you there?", { entityId: "ada", clientMessageId });
  gateway.answer = ({ method }) => (method === "POST" ? [201, { message: posted, runs: [] }] : [200, {}]);
  gateway.line = 200;
  const again = open();
  await gateway.until(() => gateway.streams.length === 2);
  gateway.tell("snapshot", snapshot(said(1, "Hello")), "e.9");
  await gateway.until(() => again.isReady() && again.space("room")!.messages.length === 2);
  gateway.tell("smartSpace.message", { spaceId: "room", message: posted }, "e.10");
  await gateway.until(() => again.space("room")!.outgoing.length === 0);

  assert.equal(again.space("room")!.messages.length, 2);
  assert.deepEqual(posts(gateway).map(({ body }) => body), [{ text: "Are you there?", clientMessageId }]);
});

const posts = (gateway: Gateway) => gateway.asked.filter(({ method }) => method === "POST");
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const waiting = (live: Live) => live.space("room")!.outgoing.map(({ message }) => message.text);

async function opened(gateway: Gateway, open: () => Live, ...messages: Message[]): Promise<Live> {
  const streams = gateway.streams.length;
  const live = open();
  await gateway.until(() => gateway.streams.length > streams);
  gateway.tell("snapshot", snapshot(...messages), "e.1");
  await gateway.until(() => live.isReady());
  return live;
}

test("what is said in two windows while nothing can be sent is kept when both are closed", async (context) => {
  const shelf = new Shelf();
  const { gateway, live, open } = await scene(context, shelf);
  gateway.answer = () => [503, {}];
  const other = await opened(gateway, open, said(1, "Hello"));
  live.send("room", { text: "In one" });
  await pause(5);
  other.send("room", { text: "In the other" });
  await pause(5);
  live.send("room", { text: "In one again" });
  live.stop();
  other.stop();
  const later = await opened(gateway, open, said(1, "Hello"));
  assert.deepEqual(waiting(later), ["In one", "In the other", "In one again"]);
});

test("what one window sent is not waiting in the other one, nor after that", async (context) => {
  const shelf = new Shelf();
  const { gateway, live, open } = await scene(context, shelf);
  gateway.answer = () => [503, {}];
  const { clientMessageId } = live.send("room", { text: "Hm?" });
  const other = await opened(gateway, open, said(1, "Hello"));
  assert.deepEqual([waiting(live), waiting(other)], [["Hm?"], ["Hm?"]]);

  gateway.tell("smartSpace.message", { spaceId: "room", message: said(2, "Hm?", { entityId: "ada", clientMessageId }) }, "e.2");
  await gateway.until(() => waiting(other).length === 0);
  assert.equal(shelf.length, 0);
});

test("messages said in one moment keep their order over a reload", async (context) => {
  const shelf = new Shelf();
  const { gateway, live, open } = await scene(context, shelf);
  gateway.answer = () => [503, {}];
  const texts = Array.from("abcdefgh");
  for (const text of texts) live.send("room", { text, clientMessageId: `${9 - texts.indexOf(text)}` });
  live.stop();
  shelf.kept = new Map([...shelf.kept].sort());
  assert.deepEqual(waiting(await opened(gateway, open, said(1, "Hello"))), texts);
});

test("only what is mine and whole is taken from the shelf", async (context) => {
  const shelf = new Shelf();
  const kept = (clientMessageId: string, text: string) =>
    ({ clientMessageId, spaceId: "room", message: { text, clientMessageId }, at: "2026-01-01T00:00:00.000Z" });
  shelf.setItem("roomful.outbox.ada.2", JSON.stringify({ ...kept("2", "Second"), at: "2026-01-02T00:00:00.000Z" }));
  shelf.setItem("roomful.outbox.ada.1", JSON.stringify(kept("1", "First")));
  const others = {
    "roomful.outbox.ada.lovelace": "[]",
    "roomful.outbox.ada.lovelace.4": JSON.stringify(kept("4", "Hers")),
    "roomful.outbox.ada.5": "{",
    "roomful.outbox.ada.6": JSON.stringify({ ...kept("6", "When?"), at: "then" }),
    "roomful.draft": "x",
  };
  for (const [key, value] of Object.entries(others)) shelf.setItem(key, value);
  const { gateway, live } = await scene(context, shelf, [503, {}]);
  assert.deepEqual(waiting(live), ["First", "Second"]);

  gateway.answer = ({ body }) => [201, { message: said(2, body.text, { ...body, id: `msg_${body.text}` }), runs: [] }];
  await gateway.until(() => waiting(live).length === 0);
  assert.deepEqual(Object.fromEntries(shelf.kept), others);
});

for (const [what, answer] of [["fails inside the gateway", () => [503, {}]], ["gets no answer", () => "cut"]] as [string, Gateway["answer"]][]) {
  test(`a message that ${what} is sent again although the line stays open`, async (context) => {
    const { gateway, live } = await scene(context);
    gateway.answer = answer;
    const { clientMessageId } = live.send("room", { text: "Hm?" });
    await gateway.until(() => posts(gateway).length === 1);
    await pause(300);
    assert.equal(posts(gateway).length, 1);
    gateway.answer = () => [201, { message: said(2, "Hm?", { entityId: "ada", clientMessageId }), runs: [] }];
    await gateway.until(() => live.space("room")!.outgoing.length === 0);
    assert.deepEqual(posts(gateway).map(({ body }) => body.clientMessageId), [clientMessageId, clientMessageId]);
    assert.equal(gateway.streams.length, 1);
  });
}

test("what waits to be sent again goes at once when the line is back", async (context) => {
  const { gateway, live } = await scene(context);
  gateway.answer = () => [503, {}];
  live.send("room", { text: "One" });
  for (let more = 1; more < 5; more++) { // by now the next try would be 16 s away
    await gateway.until(() => posts(gateway).length === more);
    await pause(50);
    live.send("room", { text: "And more" });
  }
  await gateway.until(() => posts(gateway).length === 5);
  gateway.cut();
  await gateway.until(() => live.line() === "lost");
  gateway.line = 200;
  await gateway.until(() => posts(gateway).length === 6);
});

test("after the end nothing is sent, and after a new beginning everything", async (context) => {
  const { gateway, live } = await scene(context);
  gateway.answer = () => [503, {}];
  live.send("room", { text: "Hm?" });
  await gateway.until(() => posts(gateway).length === 1);
  await pause(50);
  live.stop();
  live.send("room", { text: "Later" });
  await pause(1300);
  assert.equal(posts(gateway).length, 1);
  gateway.answer = ({ body }) => [201, { message: said(2, body.text, body), runs: [] }];
  live.start();
  await gateway.until(() => posts(gateway).length === 3);
  assert.deepEqual(posts(gateway).slice(1).map(({ body }) => body.text), ["Hm?", "Later"]);
});

test("a refused message stays, with the reason, until it is sent again or given up", async (context) => {
  const { gateway, live } = await scene(context);
  gateway.answer = () => [422, { detail: "too long", code: "invalid" }];
  const { clientMessageId } = live.send("room", { text: "…" });
  const outgoing = () => live.space("room")!.outgoing;
  await gateway.until(() => outgoing()[0]?.problem === "too long");
  live.send("room", { text: "next" });
  await gateway.until(() => outgoing()[1]?.problem === "too long");
  live.giveUp(clientMessageId);
  assert.equal(outgoing().length, 1);
  gateway.answer = () => [201, { message: said(2, "next", { entityId: "ada" }), runs: [] }];
  live.sendAgain(outgoing()[0]!.clientMessageId);
  await gateway.until(() => outgoing().length === 0);
  assert.equal(live.space("room")!.messages.length, 2);
});

for (const [what, name, data] of [
  ["an event too large for the wire", "smartSpace.message", { truncated: true, url: "/api/…" }],
  ["a space nobody told of", "member.joined", { spaceId: "other", member: MEMBERS[0] }],
  ["something that is no JSON", "smartSpace.message", undefined],
  ["my leaving", "member.left", { spaceId: "room", member: MEMBERS[0] }],
] as const) {
  test(`after ${what}, everything is read anew`, async (context) => {
    const { gateway } = await scene(context);
    context.mock.method(console, "error", () => {});
    if (data) gateway.tell(name, data, "e.2");
    else gateway.send(`id: e.2\nevent: ${name}\ndata: {"message": {\n\n`);
    await gateway.until(() => gateway.streams.length === 2);
    assert.equal(gateway.asked.at(-1)!.headers["last-event-id"], undefined);
  });
}

test("whoever scrolled up keeps what they read when everything is read anew", async (context) => {
  const { gateway, live, texts } = await scene(context);
  gateway.answer = ({ path }) => [200, { messages: path.includes("before=5") ? [said(4, "Older")] : [], position: "", hasMore: false }];
  gateway.tell("snapshot", snapshot(said(5, "Hello")), "e.1");
  await gateway.until(() => live.space("room")!.hasMore);
  await live.loadOlder("room");
  assert.deepEqual(texts(), ["Older", "Hello"]);
  gateway.answer = ({ path }) => [200, { messages: path.includes("before=5") ? [said(4, "Edited")] : [], position: "", hasMore: false }];
  gateway.tell("snapshot", snapshot(said(5, "Hello")), "f.1");
  await gateway.until(() => texts()[0] === "Edited");
  assert.deepEqual(texts(), ["Edited", "Hello"]);
});

const pages = (gateway: Gateway) => gateway.asked.filter(({ path }) => path.includes("before="));
const page = (...messages: Message[]): [number, unknown] => [200, { messages, position: "", hasMore: false }];

async function longScene(context: TestContext) {
  const all = await scene(context);
  all.gateway.tell("snapshot", snapshot(said(5, "Hello")), "e.1");
  await all.gateway.until(() => all.live.space("room")!.hasMore);
  return all;
}

test("older messages that cannot be loaded are asked for less and less often", async (context) => {
  const { gateway, live, texts } = await longScene(context);
  gateway.answer = () => [503, {}];
  await live.loadOlder("room");
  assert.equal(live.space("room")!.problem, "Older messages cannot be loaded just now.");
  for (let call = 0; call < 20; call++) void live.loadOlder("room");
  await pause(500);
  assert.equal(pages(gateway).length, 1);
  await gateway.until(() => pages(gateway).length === 2);
  await pause(1500);
  assert.equal(pages(gateway).length, 2);

  gateway.answer = () => page(said(4, "Older"));
  await gateway.until(() => texts().length === 2);
  const { problem, isLoading } = live.space("room")!;
  assert.deepEqual([pages(gateway).length, problem, isLoading], [3, null, false]);
});

test("whoever asks for older messages while they are loaded waits for the same ones", async (context) => {
  const { gateway, live, texts } = await longScene(context);
  gateway.answer = () => page(said(4, "Older"));
  const [first, second] = [live.loadOlder("room"), live.loadOlder("room")];
  assert.equal(first, second);
  await second;
  assert.deepEqual(texts(), ["Older", "Hello"]);
  assert.equal(pages(gateway).length, 1);
});

test("whoever needs a certain message gets it, also while others load", async (context) => {
  const { gateway, live, texts } = await longScene(context);
  gateway.answer = ({ path }) => {
    const seq = Number(/before=(\d+)/.exec(path)![1]) - 1;
    return [200, { messages: [said(seq, `No. ${seq}`)], position: "", hasMore: seq > 1 }];
  };
  void live.loadOlder("room");
  await live.loadOlder("room", 2);
  assert.deepEqual(texts(), ["No. 2", "No. 3", "No. 4", "Hello"]);
});

test("whoever loads until all is there neither stops nor spins when a page fails", async (context) => {
  const { gateway, live, texts } = await longScene(context);
  gateway.answer = () => "cut";
  const loading = (async () => { while (live.space("room")!.hasMore) await live.loadOlder("room"); })();
  await gateway.until(() => live.space("room")!.problem !== null);
  gateway.answer = () => page(said(4, "Older"));
  await loading;
  assert.deepEqual(texts(), ["Older", "Hello"]);
  assert.equal(pages(gateway).length, 2);
});

test("whoever waits for older messages is let go when everything is read anew", async (context) => {
  const { gateway, live } = await longScene(context);
  gateway.answer = () => [503, {}];
  await live.loadOlder("room", 1);
  const waiting = live.loadOlder("room");
  gateway.tell("snapshot", snapshot(said(5, "Hello")), "f.1");
  await waiting;
  assert.equal(live.space("room")!.problem, null);
  await pause(1300);
  assert.equal(pages(gateway).length, 1);
});

test("after the end no older messages are asked for", async (context) => {
  const { gateway, live } = await longScene(context);
  gateway.answer = () => [503, {}];
  await live.loadOlder("room");
  live.stop();
  await pause(1300);
  assert.equal(pages(gateway).length, 1);
  live.start();
  await gateway.until(() => pages(gateway).length === 2);
});

test("a token that is not valid any more ends the line", async (context) => {
  const { gateway, live } = await scene(context);
  gateway.line = 401;
  gateway.streams[0]!.end();
  await gateway.until(() => live.line() === "refused");
  const streams = gateway.asked.filter(({ path }) => path.startsWith("/api/stream")).length;
  assert.equal(streams, 2);
});
