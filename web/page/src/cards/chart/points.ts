// The numbers of a chart, however a model wrote them down.

import { figure } from "../format.ts";
import { isObject, numberIn, text, type Fields } from "../read.ts";

export interface Point { label: string; value: number }
export interface Drawing { points: Point[]; width: number; unit: string }

const LABELS = ["label", "name", "x", "category", "date", "key"];
// Sums and differences of larger numbers are none any more.
const LARGEST = 1e300;
const VALUES = ["value", "y", "count", "amount", "total"];

/** `strange` are those that have no number. */
export function pointsIn(data: unknown): { points: Point[]; strange: string[] } {
  const points: Point[] = [];
  const strange: string[] = [];
  entries(data).forEach(([label, item]) => {
    const point = pointOf(label, item);
    if (point) points.push(point);
    else if (text(item)) strange.push(text(item).slice(0, 80));
  });
  return { points, strange };
}

function entries(data: unknown): [string, unknown][] {
  if (Array.isArray(data)) return data.map((item, index) => [String(index + 1), item]);
  if (isObject(data)) return Object.entries(data);
  return data === undefined || data === null || data === "" ? [] : [["1", data]];
}

function pointOf(label: string, item: unknown): Point | null {
  if (Array.isArray(item)) return made(item.length > 1 ? text(item[0]) : label, item.length > 1 ? item[1] : item[0]);
  if (!isObject(item)) return made(label, item);
  const named = LABELS.find((name) => own(item, name) !== undefined);
  const valued = VALUES.find((name) => numberIn(own(item, name)) !== null)
    ?? Object.keys(item).find((name) => name !== named && numberIn(item[name]) !== null);
  return valued === undefined ? null : made(named === undefined ? label : text(item[named]), item[valued]);
}

const own = (item: Fields, name: string) => (Object.hasOwn(item, name) ? item[name] : undefined);

function made(label: string, value: unknown): Point | null {
  const found = numberIn(value);
  return found === null || Math.abs(found) > LARGEST ? null : { label, value: found };
}

export function said(value: number, unit: string): string {
  if (!unit) return figure(value);
  return /^[$€£¥]$/.test(unit) ? `${unit}${figure(value)}` : `${figure(value)}${unit === "%" ? "" : " "}${unit}`;
}

/** Round numbers from below the least to above the greatest; always with zero in a chart of bars. */
export function scale(values: number[], withZero: boolean): { least: number; greatest: number; ticks: number[] } {
  let least = Math.min(...values, ...(withZero ? [0] : []));
  let greatest = Math.max(...values, ...(withZero ? [0] : []));
  if (greatest - least <= Math.abs(greatest + least) * 1e-12) [least, greatest] = [Math.min(least, 0), Math.max(greatest, 0) || (least ? 0 : 1)];
  const step = roundStep((greatest - least) / 4);
  const first = Math.floor(least / step);
  const last = Math.ceil(greatest / step);
  const ticks = Array.from({ length: Math.min(12, last - first + 1) }, (_, index) => (first + index) * step);
  return { least: first * step, greatest: last * step, ticks };
}

function roundStep(raw: number): number {
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * size >= raw * 0.999) ?? 10;
  return Number.isFinite(size) && size > 0 ? step * size : 1;
}

/** As much of a label as fits. */
export function fitted(label: string, width: number): string {
  const most = Math.max(1, Math.floor(width / 6.4));
  const letters = Array.from(label);
  return letters.length <= most ? label : `${letters.slice(0, Math.max(1, most - 1)).join("")}…`;
}
