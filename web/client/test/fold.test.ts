// The cases that the gateway's own fold passes too, in tests/domain/test_fold_cases.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { SpaceView, type EventData, type Member, type Message, type Run, type RunState } from "../src/index.ts";

interface Case {
  name: string;
  snapshot: { messages: Message[]; members: Member[]; runs: Run[] };
  events: [string, EventData][];
  after: { messages: Message[]; members: Member[]; runs: RunState[] };
}

const cases = JSON.parse(readFileSync(new URL("../../../tests/data/fold_cases.json", import.meta.url), "utf-8")) as Case[];

function viewOf({ snapshot, events }: Case): SpaceView {
  const view = new SpaceView();
  view.load(structuredClone(snapshot.messages), snapshot.members, snapshot.runs);
  for (const [name, data] of events) view.apply(name, data);
  return view;
}

for (const each of cases) {
  test(each.name, () => {
    const view = viewOf(each);
    assert.deepEqual({ messages: view.list(), members: [...view.members.values()], runs: [...view.runs.values()] }, each.after);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });
}

test("what changes is replaced, and what does not stays the same object", () => {
  const growing = cases.find(({ name }) => name.startsWith("parts of one message"))!;
  const view = viewOf(growing);
  const [asked, told] = view.list();
  view.apply("text-delta", { partId: "prt_3", delta: "!", offset: 5 });
  const [askedAfter, toldAfter] = view.list();
  assert.equal(askedAfter, asked);
  assert.notEqual(toldAfter, told);
  assert.equal(toldAfter!.parts[0], told!.parts[0]);
  assert.notEqual(toldAfter!.parts[2], told!.parts[2]);
  assert.equal(view.list(), view.list());
});
