// Arguments on their way: operations on JSON, by path. A model may name a key __proto__, so only what is an
// object's own is read or written.

import type { Json } from "./wire.ts";

export type Op = ["set" | "append", string, Json];

export function applyOps(args: Json | undefined, ops: Op[]): Json {
  let changed: Json = args ?? {};
  for (const [kind, path, value] of ops) {
    const steps = path.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    changed = changedAt(changed, steps, (old) => (kind === "set" ? value : `${old ?? ""}${value}`));
  }
  return changed;
}

function changedAt(holder: Json | undefined, path: string[], change: (old: Json | undefined) => Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return change(holder);
  const copy = copied(holder);
  const old = Object.hasOwn(copy, key) ? (copy as { [key: string]: Json })[key] : undefined;
  const value = changedAt(old, rest, change);
  Object.defineProperty(copy, key, { value, enumerable: true, writable: true, configurable: true });
  return copy as Json;
}

function copied(holder: Json | undefined): object {
  if (Array.isArray(holder)) return [...holder];
  return typeof holder === "object" && holder !== null ? { ...holder } : {};
}
