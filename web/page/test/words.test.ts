import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "@roomful/client";
import { refusalOf } from "../src/files.ts";
import { asSentence, cardTitle } from "../src/words.ts";

test("a problem is told as a sentence", () => {
  assert.equal(asSentence("the message is too long"), "The message is too long.");
  assert.equal(asSentence("Already approved by Grace."), "Already approved by Grace.");
  assert.equal(asSentence("what is that?"), "What is that?");
  assert.equal(asSentence('it says "no."'), 'It says "no."');
  assert.equal(asSentence("élan (lost)"), "Élan (lost).");
  assert.equal(asSentence(" "), "");
});

test("a name keeps its spelling, and so does what has several lines", () => {
  assert.equal(asSentence("payInvoice is not known"), "payInvoice is not known.");
  assert.equal(asSentence("finance_bot left"), "finance_bot left.");
  assert.equal(asSentence("traceback:\n  line 1"), "traceback:\n  line 1");
});

test("a card is called as it calls itself, else by its tool", () => {
  assert.equal(cardTitle("approve", { title: "A laptop" }), "A laptop");
  assert.equal(cardTitle("ask", { question: "Where to?" }), "Where to?");
  assert.equal(cardTitle("ask", { question: "x".repeat(200) }).length, 80);
  const untitled: (Json | undefined)[] = [undefined, null, "title", ["title"], {}, { title: 5 }, { title: "  " }];
  for (const args of untitled) {
    assert.equal(cardTitle("payInvoice", args), "Pay invoice");
  }
});

test("a file that would be refused is known before", () => {
  const file = (size: number) => refusalOf(new File([new Uint8Array(size)], "a.bin"));
  const largest = 25 * 1024 * 1024;
  assert.equal(file(0), "This file is empty.");
  assert.equal(file(1), null);
  assert.equal(file(largest), null);
  assert.equal(file(largest + 1), "This file is larger than 25 MB.");
});
