// What can be tried in the demo, each with one press.

import { useEffect, useState } from "react";
import type { SpaceState } from "@roomful/client";
import { useLive, useMyself } from "@roomful/react";
import type { DemoPerson } from "../identity.ts";
import { go } from "../place.ts";

interface Watched { person: string; spaceId: string; does: string; says?: string }
interface Story { id: string; title: string; about: string; as: string; spaceId: string; text: string; watch?: Watched[] }

export function Stories({ spaces, people }: { spaces: SpaceState[]; people: DemoPerson[] }) {
  const live = useLive();
  const me = useMyself();
  const [stories, setStories] = useState<Story[]>([]);
  useEffect(() => {
    live.client.ask<{ stories: Story[] }>("GET", "/api/demo/stories").then((told) => setStories(told.stories), () => {});
  }, [live]);
  const nameOf = (id: string) => people.find((person) => person.id === id)?.name ?? id;
  const say = (spaceId: string, text: string) => {
    go(spaceId);
    live.send(spaceId, { text });
  };
  const canTell = ({ spaceId }: { spaceId: string }) => spaces.some(({ space }) => space.id === spaceId && space.role !== "reader");
  const mine = stories.filter(canTell).toSorted((a, b) => Number(b.as === me.id) - Number(a.as === me.id));
  const partsOf = ({ watch = [] }: Story) => watch.filter((part) => part.person === me.id && canTell(part));
  const others = stories.filter((story) => !canTell(story));
  return (
    <section className="stories" aria-label="Try this">
      <h2>Try this</h2>
      <ul>
        {mine.map((story) => (
          <li key={story.id}>
            <button onClick={() => say(story.spaceId, story.text)}>
              <b><span className="hidden">Try this: </span>{story.title}</b>
              <span>{story.about}</span>
            </button>
            <Watch watched={(story.watch ?? []).filter(({ person }) => person !== me.id)} nameOf={nameOf} />
            <MyPart parts={partsOf(story)} say={say} />
          </li>
        ))}
        {others.map((story) => (
          <li key={story.id} className="elsewhere">
            <b>{story.title}</b> <a href={`/?as=${story.as}#${story.spaceId}`} target="_blank" rel="noopener">as {nameOf(story.as)}</a>
            <MyPart parts={partsOf(story)} say={say} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Watch({ watched, nameOf }: { watched: Watched[]; nameOf(id: string): string }) {
  return watched.map(({ person, spaceId, does }) => (
    <a key={person + spaceId} className="watch" href={`/?as=${person}#${spaceId}`} target="_blank" rel="noopener">
      Second window: {nameOf(person)} {does}
    </a>
  ));
}

/** What I say in a story that somebody else began. */
function MyPart({ parts, say }: { parts: Watched[]; say(spaceId: string, text: string): void }) {
  return parts.map(({ spaceId, says }) => says && (
    <button key={spaceId + says} className="say" onClick={() => say(spaceId, says)}>Say: {says}</button>
  ));
}
