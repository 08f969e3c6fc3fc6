// One space: who is in it, what was said, who is at work, and the place to write.

import { useCallback, useMemo, useRef, useState } from "react";
import { AssistantRuntimeProvider } from "@assistant-ui/react";
import type { Message } from "@roomful/client";
import { useMyself, useSpace, type SpaceHandle } from "@roomful/react";
import { Avatar } from "../Avatar.tsx";
import { Icon } from "../Icon.tsx";
import { usePlace } from "../place.ts";
import { listed } from "../words.ts";
import { useMyAgents } from "./agents.ts";
import { Composer } from "./Composer.tsx";
import { useKnownFailures } from "./failed.ts";
import { useFirstUnread, useReading } from "./reading.ts";
import { Runs } from "./Runs.tsx";
import { useSpaceRuntime } from "./runtime.ts";
import { Now, Scene, type SceneValue } from "./scene.ts";
import { Thread } from "./Thread.tsx";
import { useWindow } from "./window.ts";

interface Props { spaceId: string; onInspect(runId: string): void }

export function SpacePage({ spaceId, onInspect }: Props) {
  const space = useSpace(spaceId)!;
  const [replyTo, setReplyTo] = useState<Message | null>(null);
  const scene = useSceneOf(space, setReplyTo, onInspect);
  const shown = useWindow(space, scene.jumpTo, scene.visit);
  const sending = useRef<(text: string) => void>(() => {});
  const runtime = useSpaceRuntime(useCallback((text: string) => sending.current(text), []));
  useReading(space);
  return (
    <main className="space" aria-label={space.space.name}>
      <SpaceHead space={space} />
      <Scene value={scene}>
        <Now value={space}>
          <AssistantRuntimeProvider runtime={runtime}>
            <Thread shown={shown} />
            <Runs />
            {scene.role === "reader"
              ? <p className="reader">You can read here. To write, ask an owner of this space.</p>
              : <Composer sending={sending} replyTo={asItIs(space, replyTo)} onReplied={() => setReplyTo(null)} />}
          </AssistantRuntimeProvider>
        </Now>
      </Scene>
    </main>
  );
}

/** A message that is replied to may be changed or deleted meanwhile. */
function asItIs({ messages }: SpaceHandle, message: Message | null): Message | null {
  return message && (messages.find(({ id }) => id === message.id) ?? message);
}

function useSceneOf(space: SpaceHandle, onReply: (message: Message) => void, onInspect: (runId: string) => void): SceneValue {
  const me = useMyself().id;
  const { messageId: jumpTo, visit } = usePlace();
  const myAgents = useMyAgents();
  const firstUnread = useFirstUnread(space);
  const failures = useKnownFailures(space);
  const { members, space: { id: spaceId, role } } = space;
  return useMemo(() => ({
    spaceId, role, members, failures, me, myAgents, firstUnread, jumpTo, visit, onReply, onInspect,
    nameOf: (entityId) => members.get(entityId)?.name ?? entityId,
  }), [spaceId, role, members, failures, me, myAgents, firstUnread, jumpTo, visit, onReply, onInspect]);
}

function SpaceHead({ space: { space, members } }: { space: SpaceHandle }) {
  const all = [...members.values()];
  const names = listed(all.map(({ name }) => name));
  return (
    <header className="space-head">
      <a className="icon-button back" href="#" aria-label="All spaces"><Icon name="back" /></a>
      <h1 dir="auto">{space.name}</h1>
      <span className="members" title={names}>
        {all.slice(0, 6).map(({ entityId, name, kind }) => <Avatar key={entityId} id={entityId} name={name} isAgent={kind === "agent"} />)}
        <span dir="auto">{names}</span>
      </span>
    </header>
  );
}
