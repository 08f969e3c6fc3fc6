// The house: spaces on one side, one of them open, and over both whatever is looked at besides.

import { useEffect, useState } from "react";
import { useLine, useLive, useSpaces } from "@roomful/react";
import { BlobSource } from "./blobs.tsx";
import type { DemoPerson } from "./identity.ts";
import { Inspector } from "./inspector/Inspector.tsx";
import { go, goInstead, usePlace } from "./place.ts";
import { Search } from "./Search.tsx";
import { Sidebar } from "./sidebar/Sidebar.tsx";
import { SpacePage } from "./space/SpacePage.tsx";
import type { Theme } from "./theme.ts";
import { useWaitingCards } from "./waiting.ts";

interface Props { people: DemoPerson[]; theme: [Theme, () => void]; onLeave(): void }

export function House({ people, theme, onLeave }: Props) {
  const live = useLive();
  const spaces = useSpaces();
  const { spaceId } = usePlace();
  const [isSearching, setSearching] = useState(false);
  const [inspected, setInspected] = useState<string | null>(null);
  const isHere = spaces.some(({ space }) => space.id === spaceId);
  const isPhone = useIsPhone();
  useSearchKey(() => setSearching(true));
  useSpaceKeys(spaces.map(({ space }) => space.id), spaceId);
  useUnreadTitle(spaces.reduce((sum, { space }) => sum + (space.unread ?? 0), 0));
  useEffect(() => {
    if (!spaceId && !isPhone && spaces[0]) goInstead(spaces[0].space.id);
  }, [spaceId, isPhone, spaces]);
  return (
    <BlobSource value={live.client}>
      <div className={`house${spaceId ? " in-space" : ""}`}>
        <Sidebar
          spaces={spaces} here={spaceId} people={people} theme={theme}
          waiting={useWaitingCards(spaces)} onSearch={() => setSearching(true)} onLeave={onLeave}
        />
        {isHere && <SpacePage key={spaceId} spaceId={spaceId} onInspect={setInspected} />}
        {!isHere && <Nowhere isLost={spaceId !== ""} />}
      </div>
      <LineBanner />
      {isSearching && <Search spaces={spaces} onClose={() => setSearching(false)} />}
      {inspected && <Inspector runId={inspected} spaces={spaces} onClose={() => setInspected(null)} />}
    </BlobSource>
  );
}

function Nowhere({ isLost }: { isLost: boolean }) {
  return (
    <main className="empty">
      {isLost
        ? <p role="status">This space is not here for you: it was deleted, or you are not in it. <a href="#">All spaces</a></p>
        : <p>You are in no space yet. Ask somebody to invite you.</p>}
    </main>
  );
}

function LineBanner() {
  const line = useLine();
  if (line !== "lost" && line !== "refused") return <div className="banner" role="status" hidden />;
  if (line === "lost") return <div className="banner" role="status">The line to the gateway is lost. Trying again; what you write is kept.</div>;
  return <div className="banner" role="status">You are signed out. <button onClick={() => location.reload()}>Sign in again</button></div>;
}

function useIsPhone(): boolean {
  const [query] = useState(() => matchMedia("(max-width: 700px)"));
  const [matches, setMatches] = useState(query.matches);
  useEffect(() => {
    const changed = () => setMatches(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [query]);
  return matches;
}

function useSearchKey(open: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      open();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}

/** Alt and an arrow: the space above or below. */
function useSpaceKeys(ids: string[], here: string): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const next = step && event.altKey ? ids[ids.indexOf(here) + step] : undefined;
      if (next === undefined) return;
      event.preventDefault();
      go(next);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}

function useUnreadTitle(unread: number): void {
  useEffect(() => { document.title = unread ? `(${unread}) Roomful` : "Roomful"; }, [unread]);
}
