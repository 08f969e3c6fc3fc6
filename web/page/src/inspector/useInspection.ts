// A run as it is now: asked for every second until it has ended.

import { useEffect, useState } from "react";
import { Problem, type Inspection } from "@roomful/client";
import { useLive } from "@roomful/react";
import { hasEnded } from "./says.ts";

const EVERY = 1000;

export interface Seen { inspection: Inspection | null; at: number; problem: string }

export function useInspection(runId: string): Seen {
  const { client } = useLive();
  const [seen, setSeen] = useState<Seen>({ inspection: null, at: 0, problem: "" });
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    const again = () => { timer = setTimeout(() => void ask(), EVERY); };
    const ask = async () => {
      const found = await client.inspect(runId).catch((error: Error) => error);
      if (isOver) return;
      if (!(found instanceof Error)) {
        setSeen({ inspection: found, at: Date.now(), problem: "" });
        if (!found.runs.every(({ run }) => hasEnded(run)) || !hasEnded(found.run)) again();
      } else {
        setSeen((before) => ({ ...before, problem: told(found) }));
        if (!isRefusal(found)) again();
      }
    };
    setSeen({ inspection: null, at: 0, problem: "" });
    void ask();
    return () => { isOver = true; clearTimeout(timer); };
  }, [client, runId]);
  return seen;
}

const isRefusal = (error: Error) => error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429;

function told(error: Error): string {
  if (!(error instanceof Problem)) return "The line to the gateway is lost. Trying again.";
  if (error.status === 403 || error.status === 404) return "You cannot look into this run. Only the owner of its agent can, as long as it is there.";
  return error.message;
}
