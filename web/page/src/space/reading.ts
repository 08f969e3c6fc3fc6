// What was read, and where the new begins.

import { useEffect, useState } from "react";
import { useMyself, type SpaceHandle } from "@roomful/react";

/** Whoever looks at a space has read it. */
export function useReading(space: SpaceHandle): void {
  const last = space.messages.at(-1)?.id;
  useEffect(() => {
    const look = () => { if (document.visibilityState === "visible" && document.hasFocus()) space.markRead(); };
    look();
    addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, [last]);
}

/** The first message that was unread when the space was opened. It stays until the space is left. */
export function useFirstUnread(space: SpaceHandle): string {
  const me = useMyself();
  const [first] = useState(() => {
    const unread = space.space.unread ?? 0;
    const others = space.messages.filter(({ entityId }) => entityId !== me.id);
    return unread ? others.at(-unread)?.id ?? others[0]?.id ?? "" : "";
  });
  return first;
}
