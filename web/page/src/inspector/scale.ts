// Time from left to right, in percent. A long wait would press everything else together, so a stretch in
// which nothing begins or ends grows slower the longer it is.

import { duration } from "./says.ts";
import type { Spans } from "./spans.ts";

const AS_LONG_AS_IT_IS = 2000;
const MARKS_APART = 13;

export interface Scale {
  at(time: number): number;
  marks: { at: number; label: string }[];
  isPressed: boolean;
}

export function scaleOf({ all, calls, steps, isOrder }: Spans): Scale {
  const spans = [all, ...calls.values(), ...steps.values()];
  const times = [...new Set(spans.flatMap(({ start, end }) => [start, end]))].sort((one, other) => one - other);
  const drawn = isOrder ? (gap: number) => gap : pressed;
  const places: number[] = [];
  times.forEach((time, index) => places.push(index ? places[index - 1]! + drawn(time - times[index - 1]!) : 0));
  const total = places.at(-1) || 1;
  const known = new Map(times.map((time, index) => [time, (places[index]! / total) * 100]));
  const at = (time: number) => known.get(time) ?? 0;
  return {
    at,
    marks: isOrder ? [] : marksOf(times, at),
    isPressed: !isOrder && times.some((time, index) => index > 0 && time - times[index - 1]! > 2 * AS_LONG_AS_IT_IS),
  };
}

function pressed(gap: number): number {
  return gap <= AS_LONG_AS_IT_IS ? gap : AS_LONG_AS_IT_IS * (1 + Math.log(gap / AS_LONG_AS_IT_IS));
}

function marksOf(times: number[], at: (time: number) => number): Scale["marks"] {
  const first = times[0] ?? 0;
  const last = times.at(-1) ?? 0;
  const marks: Scale["marks"] = [];
  for (const time of times) {
    const place = at(time);
    const isClear = place >= (marks.at(-1)?.at ?? -Infinity) + MARKS_APART && place <= 100 - MARKS_APART;
    if (isClear || time === first) marks.push({ at: place, label: duration(time - first) });
  }
  if (last > first) marks.push({ at: 100, label: duration(last - first) });
  return marks;
}
