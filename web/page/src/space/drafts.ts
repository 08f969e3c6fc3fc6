// Half-written messages, one for each person and space, kept until they are sent.

const keyOf = (me: string, spaceId: string) => `roomful.draft.${me}.${spaceId}`;

export const readDraft = (me: string, spaceId: string): string => localStorage.getItem(keyOf(me, spaceId)) ?? "";

export function keepDraft(me: string, spaceId: string, text: string): void {
  if (text) localStorage.setItem(keyOf(me, spaceId), text);
  else localStorage.removeItem(keyOf(me, spaceId));
}
