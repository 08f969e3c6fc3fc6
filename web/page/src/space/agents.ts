// The agents of mine, whose runs I may inspect.

import { useEffect, useState } from "react";
import { useLive } from "@roomful/react";

const NONE: ReadonlySet<string> = new Set();

export function useMyAgents(): ReadonlySet<string> {
  const { client, me } = useLive();
  const [mine, setMine] = useState(NONE);
  useEffect(() => {
    client.ask<{ agents: { id: string; ownerId?: string }[] }>("GET", "/api/agents").then(
      ({ agents }) => setMine(new Set(agents.filter(({ ownerId }) => ownerId === me.id).map(({ id }) => id))),
      () => {},
    );
  }, [client, me]);
  return mine;
}
