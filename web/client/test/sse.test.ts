import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameReader } from "../src/sse.ts";

const SAID = "\ufeff: hello\n\nid: e.1\nevent: text-delta\ndata: grüße 😀\n\nevent:bare\ndata\ndata:one\ndata:  two\nid: no\0\n\nevent: x\n\ndata: never ended\n";
const FRAMES = [
  { name: "text-delta", data: "grüße 😀", id: "e.1" },
  { name: "bare", data: "\none\n two", id: null },
];

for (const newline of ["\n", "\r\n", "\r"]) {
  test(`frames are the same wherever they are cut, with lines that end in ${JSON.stringify(newline)}`, () => {
    const bytes = new TextEncoder().encode(SAID.replaceAll("\n", newline));
    for (let size = 1; size <= bytes.length; size++) {
      const reader = new FrameReader();
      const frames = [];
      for (let at = 0; at < bytes.length; at += size) frames.push(...reader.read(bytes.subarray(at, at + size)));
      assert.deepEqual(frames, FRAMES);
    }
  });
}

test("what came of a large frame is not looked at again with every piece", (context) => {
  let looked = 0;
  const split = String.prototype.split;
  context.mock.method(String.prototype, "split", function (this: string, by: RegExp) {
    looked += this.length;
    return split.call(this, by);
  });
  const reader = new FrameReader();
  const piece = new TextEncoder().encode("x".repeat(1000));
  reader.read(new TextEncoder().encode("data: "));
  for (let count = 0; count < 1000; count++) assert.deepEqual(reader.read(piece), []);
  const [frame] = reader.read(new TextEncoder().encode("\n\n"));
  assert.equal(frame?.data.length, 1_000_000);
  assert.ok(looked < 1_100_000);
});
