// What a reply answers.

import { useSyncExternalStore } from "react";
import type { Message } from "@roomful/client";
import { useLive } from "@roomful/react";
import { go } from "../place.ts";
import { inWords } from "../words.ts";
import { useScene } from "./scene.ts";

export function Quote({ messageId }: { messageId: string }) {
  const live = useLive();
  const { spaceId, nameOf } = useScene();
  const quoted = useSyncExternalStore(live.subscribe, () => live.space(spaceId)?.messages.find(({ id }) => id === messageId));
  return (
    <button className="quote" onClick={() => go(spaceId, messageId)}>
      <b dir="auto">{quoted ? nameOf(quoted.entityId) : "An earlier message"}</b>
      <span dir="auto">{quoted ? brief(quoted) : "Show it"}</span>
    </button>
  );
}

export function brief({ parts, deleted, attachments }: Message): string {
  if (deleted) return "A deleted message";
  const said = parts.map((part) => (part.type === "tool_call" ? inWords(part.toolName) : part.text)).join(" ").trim();
  return said.slice(0, 140) || (attachments.length ? "A file" : "");
}
