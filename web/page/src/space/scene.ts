// What everything that is drawn inside one space knows. It changes seldom, so a delta draws one bubble anew
// and not all of them; what changes with every delta is in `useNow`.

import { createContext, useContext } from "react";
import type { Member, Message, Role, RunState } from "@roomful/client";
import type { SpaceHandle } from "@roomful/react";

export interface SceneValue {
  spaceId: string;
  role: Role | undefined;
  members: Map<string, Member>;
  failures: Map<string, RunState>;
  me: string;
  /** The agents whose runs I may inspect. */
  myAgents: ReadonlySet<string>;
  /** The message before which "new" stands. */
  firstUnread: string;
  /** The message that the address names. */
  jumpTo: string;
  /** Another one each time somebody goes there. */
  visit: number;
  nameOf(entityId: string): string;
  onReply(message: Message): void;
  onInspect(runId: string): void;
}

const SceneContext = createContext<SceneValue | null>(null);
const NowContext = createContext<SpaceHandle | null>(null);
export const Scene = SceneContext.Provider;
export const Now = NowContext.Provider;

export function useScene(): SceneValue {
  return useContext(SceneContext) ?? outside();
}

export function useNow(): SpaceHandle {
  return useContext(NowContext) ?? outside();
}

function outside(): never {
  throw new Error("this is for what is drawn inside a space");
}
