// What can be tried in the demo, each with one press.

import { useEffect, useState } from "react";
import type { SpaceState } from "@roomful/client";
import { useLive, useMyself } from "@roomful/react";
import type { DemoPerson } from "../identity.ts";
import { go } from "../place.ts";

interface Watched { person: string; spaceId: string; does: string }
interface Story { id: string; title: string; about: string; as: string; spaceId: string; text: string; watch?: Watched[] }

export function Stories({ spaces, people }: { spaces: SpaceState[]; people: DemoPerson[] }) {
  const live = useLive();
  const me = useMyself();
  const [stories, setStories] = useState<Story[]>([]);
  useEffect(() => {
    live.client.ask<{ stories: Story[] }>("GET", "/api/demo/stories").then((told) => setStories(told.stories), () => {});
  }, [live]);
  const nameOf = (id: string) => people.find((person) => person.id === id)?.name ?? id;
  const canTell = ({ spaceId }: Story) => spaces.some(({ space }) => space.id === spaceId && space.role !== "reader");
  const mine = stories.filter(canTell).toSorted((a, b) => Number(b.as === me.id) - Number(a.as === me.id));
  const others = stories.filter((story) => !canTell(story));
  return (
    <section className="stories" aria-label="Try this">
      <h2>Try this</h2>
      <ul>
        {mine.map((story) => (
          <li key={story.id}>
            <button onClick={() => {
              go(story.spaceId);
              live.send(story.spaceId, { text: story.text });
            }}>
              <b><span className="hidden">Try this: </span>{story.title}</b>
              <span>{story.about}</span>
            </button>
            <Watch watched={(story.watch ?? []).filter(({ person }) => person !== me.id)} nameOf={nameOf} />
          </li>
        ))}
        {others.map((story) => (
          <li key={story.id} className="elsewhere">
            <b>{story.title}</b> <a href={`/?as=${story.as}#${story.spaceId}`} target="_blank" rel="noopener">as {nameOf(story.as)}</a>
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
