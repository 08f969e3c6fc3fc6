// Where one is: `#space` or `#space/message`, so that a link leads there and Back works.

import { useSyncExternalStore } from "react";

export interface Place { spaceId: string; messageId: string }

const here = () => location.hash;
const subscribe = (listener: () => void) => {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
};

export function usePlace(): Place {
  const [spaceId = "", messageId = ""] = useSyncExternalStore(subscribe, here).slice(1).split("/");
  return { spaceId, messageId };
}

export function go(spaceId: string, messageId = ""): void {
  const hash = `#${spaceId}${messageId && `/${messageId}`}`;
  if (location.hash !== hash) location.hash = hash;
  else dispatchEvent(new HashChangeEvent("hashchange"));
}
