// Failures of this space: those that were heard of, and those from before this page was opened.

import { useEffect, useMemo, useState } from "react";
import { runState, type RunState } from "@roomful/client";
import { useLive, type SpaceHandle } from "@roomful/react";

export function useKnownFailures({ space: { id }, failures }: SpaceHandle): Map<string, RunState> {
  const { client } = useLive();
  const [earlier, setEarlier] = useState<RunState[]>([]);
  useEffect(() => {
    client.runs({ spaceId: id, status: "failed", limit: 20 }).then(({ runs }) => setEarlier(runs.map(runState)), () => {});
  }, [client, id]);
  return useMemo(() => new Map([...earlier.map((run) => [run.runId, run] as const), ...failures]), [earlier, failures]);
}
