// assistant-ui's viewport and composer over our own store. It keeps no messages: several people and agents
// speak here, a part changes fifty times a second, and our list draws only what changed.

import { useCallback } from "react";
import { useExternalStoreRuntime, type AppendMessage, type ThreadMessage } from "@assistant-ui/react";

const NONE: ThreadMessage[] = [];

export function useSpaceRuntime(send: (text: string) => void) {
  const onNew = useCallback(async ({ content }: AppendMessage) => {
    send(content.map((part) => (part.type === "text" ? part.text : "")).join(""));
  }, [send]);
  return useExternalStoreRuntime({ messages: NONE, isRunning: false, onNew });
}
