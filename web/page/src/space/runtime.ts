// Our store behind assistant-ui: it draws the list and the composer, and keeps nothing of its own.

import { useCallback } from "react";
import { useExternalStoreRuntime, type AppendMessage, type ThreadMessageLike } from "@assistant-ui/react";
import type { Message } from "@roomful/client";

const DONE = { type: "complete", reason: "stop" } as const;

// A message is drawn from our own one: several people and agents speak here, and assistant-ui knows two roles.
function convert(message: Message): ThreadMessageLike {
  return { id: message.id, role: "assistant", content: [], status: DONE, metadata: { custom: { message } } };
}

export function useSpaceRuntime(messages: Message[], send: (text: string) => void) {
  const onNew = useCallback(async ({ content }: AppendMessage) => {
    send(content.map((part) => (part.type === "text" ? part.text : "")).join(""));
  }, [send]);
  return useExternalStoreRuntime({ messages, convertMessage: convert, isRunning: false, onNew });
}
