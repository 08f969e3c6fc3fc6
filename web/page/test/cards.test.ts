import assert from "node:assert/strict";
import { test } from "node:test";
import type { Arguments, Json, ToolCallPart } from "@roomful/client";
import { bundled, dangersIn } from "./bundle.ts";
import { prefixes } from "./prefixes.ts";

interface Page { draw(part: ToolCallPart, isGate?: boolean, mayAnswer?: boolean): string; names: string[] }

const { draw, names } = await bundled<Page>(`
  import { renderToString } from "react-dom/server";
  import { ToolCall } from "@roomful/react";
  import { ApprovalGate, GenericCard, tools } from "../src/cards/index.ts";
  export const names = Object.keys(tools);
  const nameOf = (id) => ({ ada: "Ada", grace: "Grace", shop: "Shop Agent" })[id] ?? id;
  export const draw = (part, isGate = false, mayAnswer = true) => renderToString(
    <ToolCall part={part} me="ada" mayAnswer={mayAnswer} nameOf={nameOf} send={() => Promise.resolve()}
      tools={isGate ? {} : tools} fallback={isGate ? ApprovalGate : GenericCard} />).replaceAll("<!-- -->", "");
`);

const ARGS: Record<string, Arguments> = {
  ApprovalForm: { title: "Laptop", amount: 2499.5, currency: "EUR", description: "For \"design\"\n😀", vendor: "Apple", lines: [{ a: 1 }] },
  confirmAction: { title: "Delete files", paths: ["a", "b"] },
  ProductCard: { name: "MacBook Pro", price: 2499, currency: "USD", description: "14 inch", image: "/api/blobs/blb_1", rating: 4.8 },
  Chart: { type: "pie", title: "Sales", unit: "EUR", data: [{ label: "North", value: 12.5 }, { x: "South", y: -3 }, 7, ["West", 4]] },
  ImageResult: { prompt: "A lighthouse", size: "1024x1024" },
  Table: { title: "Stock", columns: ["item", { key: "price", label: "Price" }], rows: [{ item: "Chair", price: 1 }, ["Desk", 2], 3] },
  Poll: { question: "Where?", options: ["Pizza", "Sushi"] },
  Choice: { question: "Which?", options: ["A", { value: 2, label: "B", description: "b" }], multiple: true },
  DatePicker: { question: "When?", min: "2026-11-16", max: "2026-12-24", time: true },
  FilePicker: { question: "Send it", accept: "image/*", multiple: true },
  fetchWeatherData: { city: "Berlin", nested: { deep: [{ a: 1, b: "x" }, { a: 2, b: "y" }] }, picture: "/api/blobs/b1", site: "https://example.com" },
};

const HOSTILE: Json[] = [
  null, true, false, 0, -1, 1e308, -1e308, 1e-320, "", " ", "a", "NaN", "-", "12,5", "😀".repeat(40), "x".repeat(5000), [], [[]], [null], [[[1]]], {}, { a: {} },
  "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>", "vbscript:x", "https://evil.example/x.png", "//evil.example/x.png", "/api/blobs/../me",
  "/api/blobs/a?x=1", "/api/blobs/a#x", "/api/blobs/", "/api/blobs/a/b", "\"><svg onload=alert(1)>", "' onmouseover='alert(1)", "http://[", "mailto:",
  { url: "javascript:alert(1)" }, [{ url: "https://evil.example/a.png", mediaType: "image/png" }], { label: "<b>x</b>", value: "<i>" },
  [{ label: {}, value: [] }], [{ key: null, label: 3 }], { value: { value: {} } }, ["a", "a", 1, null, {}], Array.from({ length: 300 }, (_, at) => at),
  JSON.parse('{"__proto__": {"x": 1}, "constructor": 2, "toString": 3, "hasOwnProperty": 4}') as Json, nested(40), "\ud800", "\u202etxt.exe", "%E0%A4%A",
];

const STATUSES: ToolCallPart["status"][] = ["streaming", "ready", "running", "waiting", "complete", "error", "canceled", "unknown"];

function nested(depth: number): Json {
  let made: Json = "end";
  for (let left = depth; left > 0; left -= 1) made = { more: [made] };
  return made;
}

function part(name: string, more: Partial<ToolCallPart> = {}): ToolCallPart {
  return { type: "tool_call", id: "p1", toolCallId: "c1", toolName: name, customUI: name, status: "waiting", ...more };
}

function isHarmless(given: ToolCallPart, isGate = false): string {
  const html = draw(given, isGate);
  assert.deepEqual(dangersIn(html), []);
  assert.match(html, /role="group"/);
  return html;
}

test("what is dangerous is recognised", () => {
  for (const bad of ['<script>', '<img src="/x">', '<a href="javascript:x">', '<b onclick="x">', '<p style="background:url(x)">', '<image xlink:href="x">']) {
    assert.notDeepEqual(dangersIn(bad), [], bad);
  }
  assert.deepEqual(dangersIn('<a title="a onclick=b" href="https://x.example/">&lt;script&gt; on=1</a>'), []);
});

test("a prefix ends anywhere", () => {
  assert.deepEqual(prefixes({ a: "xy", b: [1, 23] }), [
    {}, { a: "" }, { a: "x" }, { a: "xy" }, { a: "xy", b: [] }, { a: "xy", b: [1] }, { a: "xy", b: [1, 2] }, { a: "xy", b: [1, 23] },
  ]);
});

for (const [name, args] of Object.entries(ARGS)) {
  test(`${name} is drawn at every letter of its arguments`, () => {
    for (const known of prefixes(args)) {
      const html = isHarmless(part(name, { status: "streaming", args: known, asks: "answer" }));
      for (const button of html.match(/<button[^>]*class="act[ "][^>]*>/g) ?? []) assert.match(button, /disabled/);
    }
  });

  test(`${name} is drawn in every status and with every result`, () => {
    for (const status of STATUSES) {
      isHarmless(part(name, { status, args, error: "<script>no</script>", answeredBy: "grace", answeredAt: "2026-11-16T14:05:00Z" }));
      for (const result of HOSTILE) isHarmless(part(name, { status, args, result }));
    }
  });

  test(`${name} takes arguments of the wrong type`, () => {
    for (const wrong of HOSTILE) {
      isHarmless(part(name, { status: "complete", args: wrong }));
      for (const field of Object.keys(args)) {
        for (const status of ["streaming", "waiting", "complete"] as const) isHarmless(part(name, { status, args: { ...args, [field]: wrong } }));
      }
    }
  });
}

test("every registered card is tried here", () => {
  assert.deepEqual(names.filter((name) => !(name in ARGS)), []);
});

test("a gate is drawn with whatever arguments", () => {
  const approval = { agentId: "shop", argsHash: "x", triggerEntityId: "grace", triggerSpaceId: "finance" };
  for (const args of [...HOSTILE, ...prefixes(ARGS["fetchWeatherData"]!)]) isHarmless(part("pay", { asks: "approval", args, approval }), true);
  const html = isHarmless(part("transferMoney", { asks: "approval", args: { note: "a\u202eb\u200b" }, approval }), true);
  assert.match(html, /a\\u202eb\\u200b/);
  assert.match(html, /<bdi>Shop Agent<\/bdi> wants to call transferMoney, asked by <bdi>Grace<\/bdi> in finance\./);
});

test("a gate of a guarded space says from where to where, and has nothing to edit or remember", () => {
  const approval = { agentId: "shop", argsHash: "x", fromSpaceIds: ["vault", "safe"], toSpaceIds: ["room"] };
  const html = isHarmless(part("show", { asks: "approval", args: { note: "x" }, approval }), true);
  assert.match(html, /It would be shown in room, where not everybody may read vault, safe\./);
  assert.doesNotMatch(html, /Ask again|Edit arguments/);
});

test("what is nested without end is shown", () => {
  for (const name of ["fetchWeatherData", "ApprovalForm", "Table", "Chart"]) {
    for (const depth of [1000, 20_000]) {
      const html = isHarmless(part(name, { status: "complete", args: { title: nested(depth), rows: [nested(depth)], x: nested(depth) } }));
      assert.ok(html.length < 250_000, `${html.length} letters`);
    }
  }
  isHarmless(part("pay", { asks: "approval", args: { x: nested(20_000) } }), true);
});

test("polls, questions and trails take whatever comes", () => {
  for (const wrong of HOSTILE) {
    isHarmless(part("Poll", { args: ARGS["Poll"]!, answers: [{ entityId: "ada", result: wrong, at: "x" }] }));
    isHarmless(part("ask", { asks: "answer", question: wrong }));
    isHarmless(part("ask", { asks: "answer", question: { requests: { a: wrong, b: { message: wrong, schema: { properties: { x: wrong }, required: wrong } } } } }));
    const child = { runId: null, agentId: "x", name: "<script>", status: "running", text: "javascript:x", finishReason: null, usage: null } as const;
    isHarmless(part("delegate", { status: "running", args: {}, child: { ...child, calls: [{ toolCallId: "c", toolName: "x", status: "error", args: wrong, result: wrong, error: "<img>" }] } }));
  }
});

test("cards say what was decided and by whom", () => {
  const at = new Date();
  at.setHours(14, 5);
  const answered = { status: "complete", answeredBy: "grace", answeredAt: at.toISOString() } as const;
  assert.match(draw(part("ApprovalForm", { ...answered, args: ARGS["ApprovalForm"]!, result: { approved: true } })), /Approved by Grace · 14:05/);
  const refused = draw(part("ApprovalForm", { ...answered, args: {}, result: { approved: false, reason: "Too dear" } }));
  assert.match(refused, /Rejected by Grace · 14:05.*Too dear/s);
  assert.match(draw(part("ProductCard", { ...answered, args: ARGS["ProductCard"]!, result: { selected: true } })), /Selected by Grace · 14:05/);
  assert.match(draw(part("Choice", { ...answered, args: ARGS["Choice"]!, result: { choices: [2] } })), /Answered by Grace/);
});

test("only those who may answer can press", () => {
  const waiting = part("ApprovalForm", { args: ARGS["ApprovalForm"]! });
  assert.doesNotMatch(draw(waiting), /<button[^>]*disabled[^>]*>Approve/);
  assert.match(draw(waiting, false, false), /<button[^>]*disabled[^>]*>Approve/);
});

test("pictures are loaded from this gateway only", () => {
  const shown = (url: string) => draw(part("ImageResult", { status: "complete", args: { prompt: "x" }, result: { images: [{ url }] } }));
  assert.match(shown("/api/blobs/blb_1"), /<span data-image="\/api\/blobs\/blb_1">/);
  assert.match(shown("https://evil.example/x.png"), /<a class="link"[^>]*>https:\/\/evil\.example\/x\.png<\/a>/);
  for (const url of ["/api/blobs/../x", "/api/blobs/a/../b", "/api/blobs/a?b", "/api/blobs/a b", "/api/blobs/" + "a".repeat(65), "x/api/blobs/a"]) {
    assert.doesNotMatch(shown(url), /data-image|<a/, url);
  }
});

test("numbers are drawn whatever they are called", () => {
  const html = draw(part("Chart", { status: "complete", args: { type: "bar", data: [{ name: "a", sales: "5" }, [1, 2], { label: "x" }] } }));
  assert.match(html, /<th scope="row">a<\/th><td>5<\/td>/);
  assert.match(html, /Not a number: \{&quot;label&quot;:&quot;x&quot;\}/);
});

test("what is hidden is one quiet line", () => {
  const html = draw(part("searchInventory", { status: "complete" }));
  assert.match(html, /Search inventory/);
  assert.match(html, /done/);
  assert.doesNotMatch(html, /<section/);
});

test("long tables begin with 200 rows", () => {
  const html = draw(part("Table", { status: "complete", args: { rows: Array.from({ length: 230 }, (_, at) => ({ at })) } }));
  assert.equal(html.match(/<tr>/g)?.length, 201);
  assert.match(html, /Show all/);
});
