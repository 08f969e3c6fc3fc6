// Where one is: `#space` or `#space/message`, so that a link leads there and Back works.

import { useSyncExternalStore } from "react";

/** `visit` tells coming to a place again from being there. */
export interface Place { spaceId: string; messageId: string; visit: number }

let visits = 0;
const here = () => `${location.hash}/${visits}`;
const subscribe = (listener: () => void) => {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
};

export function usePlace(): Place {
  const place = useSyncExternalStore(subscribe, here);
  const [spaceId = "", messageId = ""] = place.slice(1, place.lastIndexOf("/")).split("/");
  return { spaceId, messageId, visit: Number(place.slice(place.lastIndexOf("/") + 1)) };
}

/** Like `go`, but Back does not lead to where one was. */
export function goInstead(spaceId: string): void {
  history.replaceState(null, "", `#${spaceId}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function go(spaceId: string, messageId = ""): void {
  visits++;
  const hash = `#${spaceId}${messageId && `/${messageId}`}`;
  if (location.hash !== hash) location.hash = hash;
  else dispatchEvent(new HashChangeEvent("hashchange"));
}
