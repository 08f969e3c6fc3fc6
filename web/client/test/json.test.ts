import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "../src/json.ts";

test("a whole number that would be rounded stays the text it was", () => {
  const told = '{"amount": 9007199254740993, "small": 9007199254740991, "less": -12345678901234567890, "part": 0.1234567890123456789}';
  assert.deepEqual(parseJson(told), {
    amount: "9007199254740993", small: 9007199254740991, less: "-12345678901234567890", part: 0.12345678901234568,
  });
});

test("everything else is as JSON says", () => {
  const told = '{"__proto__": {"a": 1}, "id": "msg_1234567890123456789", "list": [1, 2.5, null, true, "x"]}';
  assert.deepEqual(parseJson(told), JSON.parse(told));
  assert.throws(() => parseJson('{"a": 1234567890123456789'), SyntaxError);
});
