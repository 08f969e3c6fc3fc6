// Which call is drawn where: one lane for each space, and one for what no space shows.

import type { InspectedCall, InspectedRun, Inspection } from "@roomful/client";
import { inWords } from "../words.ts";
import { asksSomebody, duration, isSettled } from "./says.ts";
import type { Scale } from "./scale.ts";
import { stepKey, type Span, type Spans } from "./spans.ts";

export interface Bar {
  call: InspectedCall;
  /** In percent of the lane. */
  left: number;
  width: number;
  /** Where it begins to wait for somebody, in percent of the bar. */
  waitsFrom: number | null;
  label: string;
  /** Where the label has room. */
  side: "inside" | "after" | "before";
  /** What it does, where and how long. */
  name: string;
  row: number;
}
export interface Lane { id: string; name: string; bars: Bar[]; rows: number }

const NOT_SHOWN = "";
// A lane is at least so wide; that a label fits is reckoned for this width.
const LANE_WIDTH = 560;
const LETTER = 6.4;
const PADDING = 16;

export function lanesOf(inspection: Inspection, spans: Spans, scale: Scale): Lane[] {
  const names = new Map(inspection.spaces.map(({ spaceId, name }) => [spaceId, name]));
  const lanes = new Map<string, Lane>([...names].map(([id, name]) => [id, { id, name, bars: [], rows: 0 }]));
  const hidden: Lane = { id: NOT_SHOWN, name: "Not shown", bars: [], rows: 0 };
  for (const one of inspection.runs) {
    for (const call of one.calls) {
      for (const id of spacesOf(call, one, inspection.runs)) {
        const lane = lanes.get(id) ?? hidden;
        const bar = barOf(call, one, lane.name, inspection, spans, scale);
        if (bar) lane.bars.push(bar);
      }
    }
  }
  return [...lanes.values(), hidden].filter(({ bars }) => bars.length).map(packed);
}

/** A call inside a called run that is not hidden is seen where the call is seen that made the run. */
function spacesOf(call: InspectedCall, by: InspectedRun, runs: InspectedRun[]): string[] {
  if (call.visibility === "hidden") return [NOT_SHOWN];
  const shown = new Set(call.places.length ? call.places.map(({ spaceId }) => spaceId) : call.spaceIds);
  if (shown.size) return [...shown];
  const caller = runs.find(({ calls }) => calls.some(({ childRunId }) => childRunId === by.run.id));
  const around = caller?.calls.find(({ childRunId }) => childRunId === by.run.id);
  return caller && around ? spacesOf(around, caller, runs) : [NOT_SHOWN];
}

function barOf(call: InspectedCall, by: InspectedRun, lane: string, inspection: Inspection, spans: Spans, scale: Scale): Bar | null {
  const span = spans.calls.get(call.toolCallId);
  if (!span) return null;
  const left = scale.at(span.start);
  const width = scale.at(span.end) - left;
  const label = inWords(call.toolName);
  const whose = by.run.id === inspection.run.id ? "" : ` by ${by.agentName}`;
  const long = spans.isOrder || !call.startedAt ? "" : `, ${howLong(call, span)}`;
  return {
    call, left, width, label, row: 0,
    waitsFrom: asksSomebody(call) ? waitsFrom(span, spans.steps.get(stepKey(by.run.id, call.step)), scale) : null,
    side: sideOf(left, width, label),
    name: `${label}${whose}, ${lane === "Not shown" ? "not shown" : lane}${long}`,
  };
}

function howLong(call: InspectedCall, { start, end }: Span): string {
  const long = duration(end - start);
  if (call.status === "waiting") return `waits for ${long} so far`;
  if (!isSettled(call)) return `runs for ${long} so far`;
  if (call.status === "error") return `failed after ${long}`;
  return `${asksSomebody(call) ? "waited" : "took"} ${long}`;
}

/** The model writes the whole call before anybody can be asked. */
function waitsFrom({ start, end }: Span, step: Span | undefined, scale: Scale): number {
  const from = scale.at(start);
  const whole = scale.at(end) - from;
  if (!step || step.end <= start || !whole) return 0;
  return Math.min(100, ((scale.at(Math.min(step.end, end)) - from) / whole) * 100);
}

const room = (label: string) => ((label.length * LETTER + PADDING) / LANE_WIDTH) * 100;

function sideOf(left: number, width: number, label: string): Bar["side"] {
  if (width >= room(label)) return "inside";
  if (left + width + room(label) <= 100) return "after";
  return left >= room(label) ? "before" : "inside";
}

function extent({ left, width, label, side }: Bar): [number, number] {
  if (side === "before") return [left - room(label), left + width];
  return [left, left + width + (side === "after" ? room(label) : 0)];
}

/** Bars and labels that would lie on each other get rows of their own. */
function packed(lane: Lane): Lane {
  const ends: number[] = [];
  const bars = lane.bars.toSorted((one, other) => one.left - other.left).map((bar) => {
    const [from, to] = extent(bar);
    const free = ends.findIndex((end) => end <= from);
    const row = free < 0 ? ends.length : free;
    ends[row] = Math.max(to, from + 2);
    return { ...bar, row };
  });
  return { ...lane, bars, rows: ends.length };
}
