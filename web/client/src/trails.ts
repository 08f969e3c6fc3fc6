// What happens inside a delegation, folded into the part that shows it.

import type { EventData } from "./fold.ts";
import type { Child, ChildCall } from "./wire.ts";

/** A delegation after something happened inside it, `path` calls further down. */
export function grownChild(child: Child, name: string, data: EventData, path: string[]): Child {
  const calls = child.calls ?? [];
  const [id, ...rest] = path;
  if (id !== undefined) {
    const below = (call: ChildCall) =>
      call.toolCallId === id && call.child ? { ...call, child: grownChild(call.child, name, data, rest) } : call;
    return { ...child, calls: calls.map(below) };
  }
  if (name === "subagent.text") {
    return { ...child, text: Array.from(child.text).slice(0, data.offset).join("") + data.delta };
  }
  if (name === "subagent.end") return { ...data.child, calls };
  return { ...child, calls: withCall(calls, data.call) };
}

function withCall(calls: ChildCall[], call: ChildCall): ChildCall[] {
  const at = calls.findIndex((known) => known.toolCallId === call.toolCallId);
  if (at < 0) return [...calls, call];
  const { child } = calls[at]!;
  return calls.with(at, { ...(child && { child }), ...call });
}
