// From when to when everything in a run went on. Rows that were written before times were kept have none:
// what belongs to them stands in its order.

import type { InspectedCall, InspectedRun, InspectedStep, Inspection } from "@roomful/client";
import { isSettled } from "./says.ts";

export interface Span { start: number; end: number }
export interface Spans {
  calls: Map<string, Span>;
  steps: Map<string, Span>;
  /** Of the whole run. */
  all: Span;
  /** There are no times: places in an order. */
  isOrder: boolean;
}

export const stepKey = (runId: string, number: number) => `${runId}/${number}`;

/** `now` is where everything ends that goes on. */
export function spansOf({ run, runs }: Inspection, now: number): Spans {
  const spans: Spans = { calls: new Map(), steps: new Map(), all: { start: 0, end: 0 }, isOrder: false };
  const top = runs.find((one) => one.run.id === run.id);
  const byId = new Map(runs.map((one) => [one.run.id, one]));
  if (top && !isTimed(top)) {
    spans.isOrder = true;
    spans.all.end = layInOrder(spans, top, byId, 0, 1);
    return spans;
  }
  for (const one of runs) {
    const around = one.run.parentCallId ? spans.calls.get(one.run.parentCallId) : undefined;
    if (isTimed(one)) layByTime(spans, one, now);
    else if (around) layInOrder(spans, one, byId, around.start, (around.end - around.start) / slots(one, byId));
  }
  spans.all = hull([...spans.calls.values(), ...spans.steps.values()], time(run.createdAt), time(run.endedAt) ?? now);
  return spans;
}

function hull(spans: Span[], start: number | undefined, end: number): Span {
  const first = Math.min(start ?? Infinity, ...spans.map((each) => each.start));
  return { start: Number.isFinite(first) ? first : end, end: Math.max(end, ...spans.map((each) => each.end)) };
}

function time(iso: string | undefined): number | undefined {
  const at = iso === undefined ? NaN : Date.parse(iso);
  return Number.isNaN(at) ? undefined : at;
}

const isTimed = ({ steps, calls }: InspectedRun): boolean =>
  [...steps, ...calls].every(({ startedAt }) => time(startedAt) !== undefined);

function layByTime(spans: Spans, { run, steps, calls }: InspectedRun, now: number): void {
  for (const step of steps) spans.steps.set(stepKey(run.id, step.number), timed(step, step.isOpen === true, now));
  for (const call of calls) spans.calls.set(call.toolCallId, timed(call, !isSettled(call), now));
}

function timed({ startedAt, endedAt }: InspectedStep | InspectedCall, isOpen: boolean, now: number): Span {
  const start = time(startedAt) ?? now;
  const end = time(endedAt) ?? (isOpen ? now : start);
  return { start, end: Math.max(start, end) };
}

/** Gives each step a moment and each call a slot, longer by those of the run that it called. */
function layInOrder(spans: Spans, { run, steps, calls }: InspectedRun, byId: Map<string, InspectedRun>, from: number, slot: number): number {
  let at = from;
  for (const number of stepNumbers(steps, calls)) {
    spans.steps.set(stepKey(run.id, number), { start: at, end: at });
    const made = calls.filter(({ step }) => step === number);
    for (const call of made) {
      const child = call.childRunId ? byId.get(call.childRunId) : undefined;
      const end = child ? layInOrder(spans, child, byId, at + slot / 2, slot) + slot / 2 : at + slot;
      spans.calls.set(call.toolCallId, { start: at, end });
      at = end;
    }
    if (!made.length) at += slot;
  }
  return at;
}

function slots(run: InspectedRun, byId: Map<string, InspectedRun>): number {
  const nothing: Spans = { calls: new Map(), steps: new Map(), all: { start: 0, end: 0 }, isOrder: true };
  return Math.max(1, layInOrder(nothing, run, byId, 0, 1));
}

/** Also those of which only calls are left. */
export function stepNumbers(steps: InspectedStep[], calls: InspectedCall[]): number[] {
  const numbers = new Set([...steps.map(({ number }) => number), ...calls.map(({ step }) => step)]);
  return [...numbers].sort((one, other) => one - other);
}
