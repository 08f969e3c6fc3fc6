// The messages, oldest first, on assistant-ui's viewport, which stays at the end while one is there.

import { Fragment, memo, useCallback, useMemo, useRef, useState } from "react";
import { ThreadPrimitive } from "@assistant-ui/react";
import type { Message } from "@roomful/client";
import { Icon } from "../Icon.tsx";
import { go } from "../place.ts";
import { day } from "../words.ts";
import { Bubble } from "./Bubble.tsx";
import { Outgoing } from "./Outgoing.tsx";
import { useNow, useScene } from "./scene.ts";
import { useEdges, useJump, useKeptPlace, useSight, type List } from "./scrolling.ts";
import type { Shown } from "./window.ts";

export function Thread({ shown }: { shown: Shown }) {
  const list = useRef<HTMLDivElement>(null);
  const space = useNow();
  const { spaceId, jumpTo, firstUnread } = useScene();
  const [isUnreadSeen, setUnreadSeen] = useState(false);
  const [reached, setReached] = useState("");
  // Whoever is on the way to a message is not pulled to the end.
  const isGoing = jumpTo !== reached && (space.hasMore || space.messages.some(({ id }) => id === jumpTo));
  const seeUnread = useCallback(() => setUnreadSeen(true), []);
  const scrolled = useEdges(list, shown, isGoing);
  const older = space.problem ?? (space.isLoading ? "Loading older messages…" : "");
  return (
    <ThreadPrimitive.Root className="thread">
      <ThreadPrimitive.Viewport
        className="messages" role="log" aria-label="Messages" aria-live="polite" tabIndex={0}
        onScroll={scrolled} scrollToBottomOnRunStart={false} scrollToBottomOnInitialize={!jumpTo}
        autoScroll={!shown.hasNewer && !isGoing}
      >
        {shown.hasOlder && <p className="older" role="status">{older}</p>}
        {jumpTo && !space.hasMore && !space.messages.some(({ id }) => id === jumpTo) && (
          <p className="older" role="status">The message that this address names is not here.</p>
        )}
        {shown.messages.length === 0 && space.outgoing.length === 0 && <Empty />}
        <Messages messages={shown.messages} list={list} onReached={setReached} onUnread={seeUnread} />
        {!shown.hasNewer && <Outgoing />}
        {firstUnread && !isUnreadSeen && (
          <button className="to-unread" onClick={() => go(spaceId, firstUnread)}>Jump to first unread</button>
        )}
        <ThreadPrimitive.ScrollToBottom asChild>
          <button className="to-end" aria-label="Jump to newest" onClick={shown.newest}><Icon name="down" /></button>
        </ThreadPrimitive.ScrollToBottom>
      </ThreadPrimitive.Viewport>
    </ThreadPrimitive.Root>
  );
}

/** Where the unread begins. */
function NewMark({ onSeen }: { onSeen(): void }) {
  const mark = useSight(onSeen);
  return <div ref={mark} className="new" role="separator" aria-label="New messages"><span>New</span></div>;
}

function Empty() {
  const { members } = useScene();
  const agents = [...members.values()].filter(({ kind }) => kind === "agent");
  return (
    <p className="nothing">
      Nothing was said here yet. {agents.length > 0 && `Write something; @${agents[0]!.name} is an agent and can help.`}
    </p>
  );
}

interface MessagesProps {
  messages: Message[];
  list: List;
  onReached(messageId: string): void;
  onUnread(): void;
}

function Messages({ messages, list, onReached, onUnread }: MessagesProps) {
  const ids = useIds(messages);
  useKeptPlace(list, ids);
  useJump(list, ids, onReached);
  const beginnings = useMemo(() => daysBegin(messages), [ids]);
  const { firstUnread } = useScene();
  return (
    <div ref={list}>
      {messages.map((message) => (
        <Fragment key={message.id}>
          {beginnings.has(message.id) && <h2 className="day"><span>{day(message.createdAt)}</span></h2>}
          {message.id === firstUnread && <NewMark onSeen={onUnread} />}
          <MemoBubble message={message} />
        </Fragment>
      ))}
    </div>
  );
}

/** The same array until a message comes or goes. */
function useIds(messages: Message[]): readonly string[] {
  const known = useRef<string[]>([]);
  const ids = messages.map(({ id }) => id);
  if (ids.length !== known.current.length || ids.some((id, at) => id !== known.current[at])) known.current = ids;
  return known.current;
}

/** The first message of each day. */
function daysBegin(messages: Message[]): ReadonlySet<string> {
  const firsts = messages.filter(({ createdAt }, at) => at === 0 || day(messages[at - 1]!.createdAt) !== day(createdAt));
  return new Set(firsts.map(({ id }) => id));
}

const MemoBubble = memo(Bubble);
