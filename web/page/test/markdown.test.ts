import assert from "node:assert/strict";
import { test } from "node:test";
import { bundled, dangersIn } from "./bundle.ts";

interface Token { type: string; raw: string }
interface Reader { read(text: string, isStreaming: boolean, now?: boolean): readonly Token[]; isBehind: boolean }
interface Page { draw(text: string, isStreaming?: boolean): string; Blocks: new () => Reader; lex(text: string): Token[] }

const { draw, Blocks, lex } = await bundled<Page>(`
  import { renderToString } from "react-dom/server";
  import { Lexer } from "marked";
  import { Markdown } from "../src/markdown/Markdown.tsx";
  export { Blocks } from "../src/markdown/blocks.ts";
  export const lex = (text) => [...new Lexer({ gfm: true, breaks: true }).lex(text)];
  export const draw = (text, isStreaming = false) => renderToString(<Markdown text={text} isStreaming={isStreaming} />).replaceAll("<!-- -->", "");
`);

const inner = (html: string) => html.replace(/^<div class="markdown"[^>]*>/, "").replace(/<\/div>$/, "");
const links = (html: string) => [...html.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href]) => href);

const SAMPLE = `# Report

Some **bold**, *slanted*, ~~gone~~ and \`code\`.
Next line with [a link](https://example.com/a "t") and https://example.org/auto here.

- one
- two
  - inner

3. three
4. four

- [x] done
- [ ] open

> quoted
> - list

\`\`\`ts extra
let a = "<b>";
\`\`\`

| a | b |
|:--|--:|
| 1 | **2** |

---

Words [by reference][r] and ![picture](/api/blobs/b1) end.

[r]: https://example.net/r
`;

test("each construct becomes its element", () => {
  const html = draw(SAMPLE);
  for (const piece of [
    '<h3 dir="auto">Report</h3>', "<strong>bold</strong>", "<em>slanted</em>", "<del>gone</del>", "<code>code</code>", "<br/>",
    '<ol dir="auto" start="3">', 'aria-label="Done"', '<li class="task" dir="auto"><input type="checkbox"',
    '<blockquote dir="auto"><p dir="auto">quoted</p><ul dir="auto"><li dir="auto">list</li></ul></blockquote>',
    "<span>ts</span>", "let a = &quot;&lt;b&gt;&quot;;", "Copy", '<th dir="auto" style="text-align:left">a</th>', "<hr/>",
    '<span data-image="/api/blobs/b1">picture</span>',
  ]) assert.ok(html.includes(piece), piece);
  assert.deepEqual(links(html), ["https://example.com/a", "https://example.org/auto", "https://example.net/r"]);
  assert.match(html, /rel="noopener noreferrer nofollow"/);
});

test("headings are one level down and no lower than the sixth", () => {
  assert.equal(inner(draw("# a\n## b\n###### c")), '<h3 dir="auto">a</h3><h4 dir="auto">b</h4><h6 dir="auto">c</h6>');
});

const HOSTILE = [
  "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<a href='javascript:alert(1)'>x</a>", "<style>@import 'x'</style>",
  "<iframe src='//evil.example'></iframe>", "<!-- x --><b>", "<![CDATA[x]]>", "<?php x ?>", "</div></div><script>", "`<script>`", "```\n<script>\n```",
  "```html\"><script>\nx\n```", "[x](javascript:alert(1))", "[x](JAVASCRIPT:alert(1))", "[x](java\tscript:alert(1))", "[x](&#106;avascript:alert(1))",
  "[x](javascript&colon;alert(1))", "[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](vbscript:x)", "[x](file:///etc/passwd)", "[x](//evil.example)",
  "[x](/\\evil.example)", "[x](<javascript:alert(1)>)", "<javascript:alert(1)>", "[x]: javascript:alert(1)\n\n[x]", "[x][y]\n\n[y]: data:text/html,x",
  "![x](javascript:alert(1))", "![x](https://evil.example/p.png?secret=1)", "![x][y]\n\n[y]: https://evil.example/p.png", "![x](/api/blobs/../me)",
  "![x](/api/blobs/a?b)", "![\"onload=\"x](/api/blobs/b1)", "[![x](https://evil.example/a)](https://evil.example/b)", "[x](https://a.example \"onclick='x'\")",
  "[\"onmouseover=alert(1)](https://a.example/\"onmouseover=\"x)", "https://a.example/\"onclick=\"x", "<https://a.example/\" onclick=\"x>", "| <script> |\n|---|\n| <img src=x> |",
  "- [x] <script>", "> <script>", "# <script>", "&lt;script&gt;", "&#60;script&#62;", "&#x3c;script&#x3e;", "&#0;&#xd800;&#1114112;", "\u0000\u0001", "\ud800", "a\r\nb\rc",
  "*".repeat(2000), "_a ".repeat(500), "[".repeat(2000), "![".repeat(1000), "(".repeat(2000), "`".repeat(2001), "<".repeat(2000), ">".repeat(3000), "- ".repeat(2000),
  "1. ".repeat(1000), "#".repeat(2000), "|".repeat(2000), "| a ".repeat(500) + "\n" + "|---".repeat(500), "a@".repeat(1000), "http://".repeat(300), "&".repeat(2000), "\\".repeat(2001),
  "**a ".repeat(600), "[a](".repeat(500), "~~a".repeat(500), "> ".repeat(12) + "deep", "  ".repeat(1000) + "x",
];

test("nothing that others write becomes markup", () => {
  for (const text of HOSTILE) {
    for (const each of [text, `before ${text} after`, `- ${text}`, `> ${text}`]) {
      for (const isStreaming of [false, true]) {
        const begun = performance.now();
        assert.deepEqual(dangersIn(draw(each, isStreaming)), [], each.slice(0, 100));
        assert.ok(performance.now() - begun < 1500, `too slow: ${each.slice(0, 40)}`);
      }
    }
  }
});

test("containers in containers cost no more than other words", () => {
  for (const text of [">".repeat(20_000), "- ".repeat(10_000), "1. ".repeat(7_000)]) {
    const begun = performance.now();
    assert.match(inner(draw(text)), /^<p dir="auto">/);
    assert.ok(performance.now() - begun < 500);
  }
  assert.match(draw("a\n\n" + "-".repeat(60) + "\n\n> > > b"), /<hr\/>.*<blockquote/);
});

test("html is shown as it was written", () => {
  assert.equal(inner(draw("<b>x</b>")), '<p dir="auto">&lt;b&gt;x&lt;/b&gt;</p>');
  assert.match(draw("<div>\nx\n</div>"), /&lt;div&gt;\nx\n&lt;\/div&gt;/);
});

test("pictures from elsewhere are links", () => {
  const html = inner(draw("![chart](https://evil.example/x.png?d=1)"));
  assert.match(html, /^<p dir="auto">chart <a [^>]*>https:\/\/evil\.example\/x\.png\?d=1<\/a><\/p>$/);
});

test("an open fence is code and half a link is text", () => {
  assert.match(draw("```py\nprint(1)\n``", true), /<pre tabindex="0"><code>print\(1\)<\/code><\/pre>/i);
  for (const half of ["[the docs", "[the docs]", "[the docs](", "[the docs](https://exam", "see https://exam", "<https://exam", "![x](https://e"]) {
    assert.deepEqual(links(draw(half, true)), [], half);
  }
  assert.deepEqual(links(draw("see https://example.com and", true)), ["https://example.com/"]);
});

test("strong words and code look so before they end", () => {
  for (const text of ["so **very lo", "so **very lo*"]) assert.equal(inner(draw(text, true)), '<p dir="auto">so <strong>very lo</strong></p>');
  assert.equal(inner(draw("- run `npm te", true)), '<ul dir="auto"><li dir="auto">run <code>npm te</code></li></ul>');
  for (const text of ["2 ** 3", "2**3", "so **very lo"]) assert.doesNotMatch(draw(text), /<strong>/);
  assert.doesNotMatch(draw("2**3 is", true), /<strong>/);
});

test("a line of markers waits until it is known what it begins", () => {
  assert.equal(inner(draw("Items:\n-", true)), '<p dir="auto">Items:</p>');
  assert.equal(inner(draw("Items:\n- a", true)), '<p dir="auto">Items:</p><ul dir="auto"><li dir="auto">a</li></ul>');
  assert.match(draw("Items:\n-"), /<h4/);
});

test("a text read as it grows ends as the text read at once", () => {
  const joined = ["b\n```a` c", "> a\n```x`y", "one\n\ntwo\n```js`s\n\nthree"]; // a fence that turns out to be none
  const texts = [...joined, SAMPLE, SAMPLE.replaceAll("\n", "\r\n"), SAMPLE.repeat(4), ...HOSTILE.slice(0, 50).map((text) => `a\n\n${text}\n\nb\n\n- c\n\n${text}`)];
  for (const text of texts) {
    for (const step of [1, 3, 7]) {
      const blocks = new Blocks();
      for (let end = 0; end < text.length; end += step) blocks.read(text.slice(0, end), true);
      assert.deepEqual(blocks.read(text, false), lex(text), text.slice(0, 80));
    }
  }
});

test("what is finished keeps its blocks", () => {
  const blocks = new Blocks();
  const first = blocks.read("one\n\ntwo\n\nthree\n\nfo", true);
  const second = blocks.read("one\n\ntwo\n\nthree\n\nfour", true);
  assert.deepEqual(second.map((token, at) => token === first[at]), [true, true, true, true, true, true, false]);
  assert.deepEqual(blocks.read("else", true).map(({ raw }) => raw), ["else"]);
});

test("a long block is read seldom, and at last whole", () => {
  const item = "- an item with **bold** words\n";
  const text = item.repeat(300);
  const blocks = new Blocks();
  let reads = 0;
  let known: readonly Token[] = [];
  for (let end = 4; end <= text.length; end += 4) {
    const now = blocks.read(text.slice(0, end), true);
    if (now !== known) reads += 1;
    known = now;
  }
  assert.ok(reads < 600, `${reads} reads`);
  const growing = `${text}- x`;
  blocks.read(growing, true);
  blocks.read(`${growing}y`, true);
  assert.equal(blocks.isBehind, true);
  assert.deepEqual(blocks.read(`${growing}y`, true, true).map(({ raw }) => raw).join(""), `${growing}y`);
  assert.equal(blocks.isBehind, false);
});
