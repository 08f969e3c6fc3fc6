// Files on their way into a message: uploaded at once, sent with the message.

import { useCallback, useState } from "react";
import { useLive } from "@roomful/react";
import { refusalOf } from "../files.ts";

export interface Attached { key: string; name: string; blobId?: string; problem?: string }

let made = 0;

export function useAttachments(spaceId: string) {
  const { client } = useLive();
  const [attached, setAttached] = useState<Attached[]>([]);
  const change = (key: string, changes: Partial<Attached>) =>
    setAttached((known) => known.map((each) => (each.key === key ? { ...each, ...changes } : each)));
  const add = useCallback((files: File[]) => {
    for (const file of files) {
      const key = `${spaceId}-${made++}`;
      const problem = refusalOf(file);
      setAttached((known) => [...known, { key, name: file.name || "Pasted picture", ...(problem && { problem }) }]);
      if (problem) continue;
      client.upload(file).then(
        ({ blobId }) => change(key, { blobId }),
        (error: Error) => change(key, { problem: error.message }),
      );
    }
  }, [client, spaceId]);
  return {
    attached,
    add,
    isBusy: attached.some(({ blobId, problem }) => !blobId && !problem),
    drop: (key: string) => setAttached((known) => known.filter((each) => each.key !== key)),
    clear: () => setAttached([]),
  };
}
