// Half-written messages, one for each space, kept over reloads.

const keyOf = (spaceId: string) => `roomful.draft.${spaceId}`;

export const readDraft = (spaceId: string): string => sessionStorage.getItem(keyOf(spaceId)) ?? "";

export function keepDraft(spaceId: string, text: string): void {
  if (text) sessionStorage.setItem(keyOf(spaceId), text);
  else sessionStorage.removeItem(keyOf(spaceId));
}
