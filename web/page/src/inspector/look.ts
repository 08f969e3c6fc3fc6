// What every part of the inspector knows.

import { createContext, useContext } from "react";
import type { InspectedRun, Inspection } from "@roomful/client";
import type { Spans } from "./spans.ts";

export interface LookValue {
  inspection: Inspection;
  spans: Spans;
  now: number;
  runOf(id: string | undefined): InspectedRun | undefined;
  spaceName(id: string): string;
  nameOf(entityId: string): string;
  /** Goes to a message, if it is in a space of mine. */
  open(spaceId: string, messageId: string): void;
  isMine(spaceId: string): boolean;
}

const LookContext = createContext<LookValue | null>(null);
export const Look = LookContext.Provider;

export function useLook(): LookValue {
  const look = useContext(LookContext);
  if (!look) throw new Error("this is for what is drawn inside the inspector");
  return look;
}
