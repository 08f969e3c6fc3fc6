// The messages, oldest first, on assistant-ui's viewport, which stays at the end while one is there.

import { Fragment, memo, useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";
import { ThreadPrimitive } from "@assistant-ui/react";
import type { Message } from "@roomful/client";
import { Icon } from "../Icon.tsx";
import { day } from "../words.ts";
import { Bubble } from "./Bubble.tsx";
import { Outgoing } from "./Outgoing.tsx";
import { useNow, useScene } from "./scene.ts";
import type { Shown } from "./window.ts";

const NEAR = 600;

export function Thread({ shown }: { shown: Shown }) {
  const viewport = useRef<HTMLDivElement>(null);
  const space = useNow();
  const { jumpTo } = useScene();
  const [reached, setReached] = useState("");
  // Whoever is on the way to a message is not pulled to the end.
  const isGoing = jumpTo !== reached && (space.hasMore || space.messages.some(({ id }) => id === jumpTo));
  const scrolled = useEdges(viewport, shown);
  return (
    <ThreadPrimitive.Root className="thread">
      <ThreadPrimitive.Viewport
        ref={viewport} className="messages" role="log" aria-label="Messages" aria-live="polite" tabIndex={0}
        onScroll={scrolled} scrollToBottomOnRunStart={false} scrollToBottomOnInitialize={!jumpTo}
        autoScroll={!shown.hasNewer && !isGoing}
      >
        {shown.hasOlder && <p className="older" role="status">{space.isLoading ? "Loading older messages…" : ""}</p>}
        {shown.messages.length === 0 && space.outgoing.length === 0 && <Empty />}
        <Messages messages={shown.messages} viewport={viewport} onReached={setReached} />
        {!shown.hasNewer && <Outgoing />}
        <ThreadPrimitive.ScrollToBottom asChild>
          <button className="to-end" aria-label="Jump to newest" onClick={shown.newest}><Icon name="down" /></button>
        </ThreadPrimitive.ScrollToBottom>
      </ThreadPrimitive.Viewport>
    </ThreadPrimitive.Root>
  );
}

/** Draws and loads more when an edge comes near. */
function useEdges(viewport: RefObject<HTMLDivElement | null>, { hasOlder, hasNewer, older, newer }: Shown): () => void {
  const isUp = useRef(false);
  const look = () => {
    const { scrollTop, scrollHeight, clientHeight } = viewport.current!;
    const below = scrollHeight - scrollTop - clientHeight;
    isUp.current = below > NEAR || scrollHeight <= clientHeight;
    if (hasOlder && scrollTop < NEAR) older();
    if (hasNewer && below < NEAR) newer();
  };
  // At the very edge nobody can scroll further, and no event comes.
  useEffect(() => { if (isUp.current) look(); }, [older]);
  return look;
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

interface MessagesProps { messages: Message[]; viewport: RefObject<HTMLDivElement | null>; onReached(messageId: string): void }

function Messages({ messages, viewport, onReached }: MessagesProps) {
  const ids = useIds(messages);
  useKeptPlace(viewport, ids);
  useJump(viewport, ids, onReached);
  const beginnings = useMemo(() => daysBegin(messages), [ids]);
  const { firstUnread } = useScene();
  return messages.map((message) => (
    <Fragment key={message.id}>
      {beginnings.has(message.id) && <h2 className="day"><span>{day(message.createdAt)}</span></h2>}
      {message.id === firstUnread && <div className="new" role="separator" aria-label="New messages"><span>New</span></div>}
      <MemoBubble message={message} />
    </Fragment>
  ));
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

/** What is read stays where it is when older messages come in above it. */
function useKeptPlace(viewport: RefObject<HTMLDivElement | null>, ids: readonly string[]): void {
  const anchor = useRef<{ id: string; top: number } | null>(null);
  useLayoutEffect(() => {
    const box = viewport.current;
    if (!box) return; // the first time it is not there yet
    const kept = anchor.current && box.querySelector(`[data-id="${CSS.escape(anchor.current.id)}"]`);
    if (kept) box.scrollTop += kept.getBoundingClientRect().top - anchor.current!.top;
    anchor.current = firstInView(box);
  }, [ids, viewport]);
  useEffect(() => {
    const box = viewport.current!;
    let frame = 0;
    const remember = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        anchor.current = firstInView(box);
      });
    };
    box.addEventListener("scroll", remember, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      box.removeEventListener("scroll", remember);
    };
  }, [viewport]);
}

function firstInView(box: HTMLElement): { id: string; top: number } | null {
  const edge = box.getBoundingClientRect().top;
  for (const article of box.querySelectorAll<HTMLElement>("article[data-id]")) {
    const { bottom, top } = article.getBoundingClientRect();
    if (bottom > edge) return { id: article.dataset.id!, top };
  }
  return null;
}

/** Goes to the message that the address names, once it is drawn. */
function useJump(viewport: RefObject<HTMLDivElement | null>, ids: readonly string[], onReached: (messageId: string) => void): void {
  const { jumpTo } = useScene();
  const isDrawn = ids.includes(jumpTo);
  useEffect(() => {
    if (!jumpTo) onReached("");
    if (!isDrawn || !jumpTo) return;
    onReached(jumpTo);
    const article = viewport.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(jumpTo)}"]`);
    article?.scrollIntoView({ block: "center" });
    article?.classList.add("pointed");
    const button = article?.querySelector<HTMLElement>(".card button:not(:disabled), .card input");
    button?.focus({ preventScroll: true });
    const timer = setTimeout(() => article?.classList.remove("pointed"), 2500);
    return () => clearTimeout(timer);
  }, [jumpTo, isDrawn, viewport]);
}
