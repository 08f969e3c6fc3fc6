// Trying again, less and less often.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Waits } from "../src/waits.ts";

test("each wait is twice as long as the one before, up to half a minute", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const waits = new Waits();
  const waited: number[] = [];
  for (let turn = 0; turn < 7; turn++) {
    let isOver = false;
    let seconds = 0;
    waits.before(() => { isOver = true; });
    for (; !isOver; seconds++) mock.timers.tick(1000);
    waited.push(seconds);
  }
  assert.deepEqual(waited, [1, 2, 4, 8, 16, 30, 30]);
});

test("a wait can be cut short, and the next one is short again", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const waits = new Waits();
  let calls = 0;
  for (let turn = 0; turn < 4; turn++) waits.before(() => { calls++; });
  waits.hurry();
  assert.equal(calls, 1);
  waits.before(() => { calls++; });
  mock.timers.tick(1000);
  assert.equal(calls, 2);
});

test("a wait that is stopped goes on when it is hurried", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const waits = new Waits();
  let calls = 0;
  waits.before(() => { calls++; });
  waits.stop();
  mock.timers.tick(60_000);
  assert.equal(calls, 0);
  waits.before(() => { calls++; });
  mock.timers.tick(60_000);
  assert.equal(calls, 0);
  waits.hurry();
  assert.equal(calls, 1);
});
