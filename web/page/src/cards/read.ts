// What a model sent, read as what a card expects. Nothing here throws: what has the wrong type becomes text.

import type { Json } from "@roomful/client";

export type Fields = Record<string, unknown>;

const LONGEST = 20_000;
const BLOB = /^\/api\/blobs\/[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isBlob(value: unknown): value is string {
  return typeof value === "string" && BLOB.test(value);
}

/** Strings as they are, nothing as "", anything else as JSON. */
export function text(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  return json(value).slice(0, LONGEST);
}

function json(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent) ?? "";
  } catch {
    return "(too deeply nested to be shown)";
  }
}

/** A number, also where it was sent as text. */
export function numberIn(value: unknown): number | null {
  const isText = typeof value === "string" && value.trim() !== "" && value.length < 40;
  const found = typeof value === "number" ? value : isText ? Number(value) : NaN;
  return Number.isFinite(found) ? found : null;
}

export function list(value: unknown): unknown[] {
  if (value === undefined || value === null || value === "") return [];
  return Array.isArray(value) ? value : [value];
}

export function fields(value: unknown): Fields {
  return isObject(value) ? value : {};
}

/** Everything but what a card draws in its own way. */
export function others(args: Fields, drawn: readonly string[]): [string, unknown][] {
  return Object.entries(args).filter(([name, value]) => !drawn.includes(name) && value !== undefined && value !== null);
}

/** JSON in which nothing hides: what has no width or turns the direction of text is written as its code. */
export function exactJson(value: unknown): string {
  const hidden = /[\u007f-\u009f\u2028\u2029\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
  const code = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json(value, 2).replace(hidden, (found) => found.split("").map(code).join(""));
}

/** What somebody typed: JSON as it is, other words as a text. */
export function valueIn(words: string): Json {
  try {
    return JSON.parse(words) as Json;
  } catch {
    return { text: words };
  }
}
