import type { SpaceState } from "@roomful/client";

export function Inspector(_: { runId: string; spaces: SpaceState[]; onClose(): void }) {
  return null;
}
