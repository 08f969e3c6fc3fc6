// The spaces of mine, who works in them, and what waits for me.

import { useEffect, useRef, type MouseEvent } from "react";
import type { RunState, SpaceState } from "@roomful/client";
import { useLive, useMyself } from "@roomful/react";
import { Avatar } from "../Avatar.tsx";
import { Icon } from "../Icon.tsx";
import type { DemoPerson } from "../identity.ts";
import type { Theme } from "../theme.ts";
import { goToCard, type WaitingCard } from "../waiting.ts";
import { listed } from "../words.ts";
import { Stories } from "./Stories.tsx";

interface Props {
  spaces: SpaceState[];
  here: string;
  people: DemoPerson[];
  waiting: WaitingCard[];
  theme: [Theme, () => void];
  onSearch(): void;
  onLeave(): void;
}

export function Sidebar({ spaces, here, people, waiting, theme: [theme, nextTheme], onSearch, onLeave }: Props) {
  const me = useMyself();
  return (
    <>
      <SkipLink here={here} />
      <nav className="sidebar" aria-label="Spaces">
        <header>
          <Avatar id={me.id} name={me.name} />
          <b dir="auto">{me.name}</b>
          <button className="icon-button" onClick={onSearch} aria-label="Search" title="Search (Ctrl K)"><Icon name="search" /></button>
          <button className="icon-button" onClick={nextTheme} aria-label={`Theme: ${theme}`} title={`Theme: ${theme}`}>
            <Icon name={theme === "dark" ? "moon" : theme === "light" ? "sun" : "contrast"} />
          </button>
          <button className="icon-button" onClick={onLeave} aria-label="Sign out" title="Sign out"><Icon name="leave" /></button>
        </header>
        {waiting.length > 0 && <Waiting cards={waiting} />}
        <div className="rest">
          <h2>Spaces</h2>
          <ul className="spaces">
            {spaces.map((state) => <SpaceRow key={state.space.id} state={state} isHere={state.space.id === here} />)}
          </ul>
          {people.length > 0 && <Stories spaces={spaces} people={people} />}
        </div>
      </nav>
    </>
  );
}

/** It leads to where one is, since the address is the place. */
function SkipLink({ here }: { here: string }) {
  const skip = (event: MouseEvent) => {
    event.preventDefault();
    document.querySelector<HTMLElement>("[role=log]")?.focus();
  };
  return here && <a className="skip" href={`#${here}`} onClick={skip}>Skip to messages</a>;
}

function SpaceRow({ state: { space, runs, members }, isHere }: { state: SpaceState; isHere: boolean }) {
  const unread = isHere ? 0 : space.unread ?? 0;
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => { if (isHere) bringIntoSight(row.current!); }, [isHere]);
  return (
    <li ref={row}>
      <a href={`#${space.id}`} aria-current={isHere ? "page" : undefined}>
        <span className="name" dir="auto">{space.name}</span>
        {unread > 0 && <span className="unread" aria-label={`${unread} unread`}>{unread > 99 ? "99+" : unread}</span>}
        <Working runs={runs} members={members} />
      </a>
    </li>
  );
}

/** Not `scrollIntoView`: from there the next Tab would go on, past the way to the messages. */
function bringIntoSight(row: HTMLElement): void {
  const box = row.closest(".rest")!;
  const [{ top, bottom }, frame] = [row.getBoundingClientRect(), box.getBoundingClientRect()];
  box.scrollTop += Math.min(0, top - frame.top) + Math.max(0, bottom - frame.bottom);
}

function Working({ runs, members }: Pick<SpaceState, "runs" | "members">) {
  const name = (run: RunState) => members.get(run.entityId)?.name ?? run.entityId;
  const unique = (those: RunState[]) => [...new Set(those.map(name))];
  const busy = unique(runs.filter(({ status }) => status === "running" || status === "queued"));
  const names = busy.length ? busy : unique(runs);
  if (!names.length) return null;
  const verb = busy.length ? "work" : "wait";
  return (
    <span className="busy">
      <span className={`dot ${verb}`} aria-hidden="true" />{listed(names)} {names.length > 1 ? verb : `${verb}s`}
    </span>
  );
}

function Waiting({ cards }: { cards: WaitingCard[] }) {
  const live = useLive();
  return (
    <section className="waiting" aria-label="Waiting for an answer">
      <h2>Waiting for an answer</h2>
      <ul>
        {cards.map((card) => (
          <li key={card.spaceId + card.toolCallId}>
            <button onClick={() => void goToCard(live, card)}>
              <b dir="auto">{card.title}</b>
              <span>{card.agentName} in {card.spaceName}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
