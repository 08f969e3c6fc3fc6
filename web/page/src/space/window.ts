// Of a long space only a stretch is drawn. It follows the newest message until somebody scrolls up.

import { useCallback, useEffect, useMemo, useState } from "react";
import type { Message } from "@roomful/client";
import type { SpaceHandle } from "@roomful/react";

const DRAWN = 80;
const STEP = 10;

export interface Shown {
  messages: Message[];
  hasOlder: boolean;
  hasNewer: boolean;
  older(): void;
  newer(): void;
  newest(): void;
  /** What is drawn stays, whatever comes. */
  hold(): void;
}

/** `target` is a message that has to be among the drawn ones. */
export function useWindow(space: SpaceHandle, target: string, visit: number): Shown {
  const all = space.messages;
  const [end, setEnd] = useState<number | null>(null); // the seq after which nothing is drawn; null: follow
  useLoaded(space, target);
  useEffect(() => {
    const at = all.findIndex(({ id }) => id === target);
    if (at >= 0 && at < all.length - DRAWN / 2) setEnd(all[at + DRAWN / 2]!.seq);
  }, [target, visit, all.some(({ id }) => id === target)]);

  const stop = end === null ? all.length : all.findLastIndex(({ seq }) => seq <= end) + 1;
  const start = Math.max(0, stop - DRAWN);
  const messages = useMemo(() => all.slice(start, stop), [all, start, stop]);
  const older = useCallback(() => {
    if (start > 0) setEnd(all[Math.max(start - STEP + DRAWN, DRAWN) - 1]?.seq ?? null);
    else if (space.hasMore && !space.isLoading) void space.loadOlder();
  }, [all, start, space]);
  const newer = useCallback(() => {
    if (stop < all.length) setEnd(stop + STEP >= all.length ? null : all[stop + STEP - 1]!.seq);
  }, [all, stop]);
  const newest = useCallback(() => setEnd(null), []);
  const hold = useCallback(() => {
    if (end === null && start > 0) setEnd(all[stop - 1]!.seq);
  }, [all, start, stop, end]);
  return { messages, hasOlder: start > 0 || space.hasMore, hasNewer: stop < all.length, older, newer, newest, hold };
}

/** A message that was linked to may be older than what is loaded. */
function useLoaded(space: SpaceHandle, target: string): void {
  const isThere = !target || space.messages.some(({ id }) => id === target);
  useEffect(() => {
    if (!isThere && space.hasMore && !space.isLoading) void space.loadOlder();
  }, [isThere, space]);
}
