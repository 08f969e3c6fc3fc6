// Cards that hold up a run until somebody answers.

import { useMemo } from "react";
import type { Live, SpaceState } from "@roomful/client";
import { go } from "./place.ts";
import { cardTitle } from "./words.ts";

export interface WaitingCard {
  spaceId: string;
  spaceName: string;
  toolCallId: string;
  title: string;
  agentName: string;
}

export function useWaitingCards(spaces: SpaceState[]): WaitingCard[] {
  return useMemo(() => spaces.filter(({ space }) => space.role !== "reader").flatMap(cardsIn), [spaces]);
}

function cardsIn({ space, runs, members }: SpaceState): WaitingCard[] {
  return runs.flatMap((run) => (run.pendingToolCalls ?? [])
    .filter(({ asksPeople, waitsFor, spaceIds }) =>
      asksPeople && (waitsFor === undefined || waitsFor === "answer" || waitsFor === "approval")
      && spaceIds.includes(space.id))
    .map(({ toolCallId, toolName, args }) => ({
      spaceId: space.id,
      spaceName: space.name,
      toolCallId,
      title: cardTitle(toolName, args),
      agentName: members.get(run.entityId)?.name ?? run.entityId,
    })));
}

/** Goes to the message that shows the card, however far up it is. */
export async function goToCard(live: Live, { spaceId, toolCallId }: WaitingCard): Promise<void> {
  for (;;) {
    const state = live.space(spaceId);
    const shows = state?.messages.find(({ parts }) =>
      parts.some((part) => part.type === "tool_call" && part.toolCallId === toolCallId));
    if (shows) return go(spaceId, shows.id);
    await live.loadOlder(spaceId);
    const isStuck = live.space(spaceId)?.messages[0]?.id === state?.messages[0]?.id;
    if (isStuck) return go(spaceId);
  }
}
