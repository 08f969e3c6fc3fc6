// Where one is in a long list, and how to get elsewhere.

import { useEffect, useLayoutEffect, useRef, type RefObject } from "react";
import { useScene } from "./scene.ts";
import type { Shown } from "./window.ts";

const NEAR = 600;

/** Whatever is drawn, in the order of the messages. Its parent scrolls. */
export type List = RefObject<HTMLDivElement | null>;

// The viewport's own ref is assistant-ui's, which is empty while it is handed on; the list's is ours.
const boxOf = (list: List): HTMLElement => list.current!.parentElement!;

/** Draws and loads more when an edge comes near, and holds still when it is far. */
export function useEdges(list: List, { hasOlder, hasNewer, older, newer, hold }: Shown, isGoing: boolean): () => void {
  const isUp = useRef(false);
  const look = () => {
    if (isGoing) return;
    const { scrollTop, scrollHeight, clientHeight } = boxOf(list);
    const below = scrollHeight - scrollTop - clientHeight;
    isUp.current = below > NEAR || scrollHeight <= clientHeight;
    if (below > NEAR) hold();
    if (hasOlder && scrollTop < NEAR) older();
    if (hasNewer && below < NEAR) newer();
  };
  // At the very edge nobody can scroll further, and no event comes.
  useEffect(() => { if (isUp.current) look(); }, [older]);
  return look;
}

/** What is read stays where it is when older messages come in above it. */
export function useKeptPlace(list: List, ids: readonly string[]): void {
  const anchor = useRef<{ id: string; top: number } | null>(null);
  useLayoutEffect(() => {
    const box = boxOf(list);
    const kept = anchor.current && box.querySelector(`[data-id="${CSS.escape(anchor.current.id)}"]`);
    if (kept) box.scrollTop += kept.getBoundingClientRect().top - anchor.current!.top;
    anchor.current = firstInView(box);
  }, [ids, list]);
  useEffect(() => {
    const box = boxOf(list);
    const remember = () => { anchor.current = firstInView(box); };
    box.addEventListener("scroll", remember, { passive: true });
    return () => box.removeEventListener("scroll", remember);
  }, [list]);
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
export function useJump(list: List, ids: readonly string[], onReached: (messageId: string) => void): void {
  const { jumpTo, visit } = useScene();
  const isDrawn = ids.includes(jumpTo);
  useLayoutEffect(() => { // at once: a scroll in between would look for more at the wrong edge
    if (!jumpTo) onReached("");
    if (!isDrawn || !jumpTo) return;
    onReached(jumpTo);
    const article = list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(jumpTo)}"]`);
    article?.scrollIntoView({ block: "center" });
    boxOf(list).dispatchEvent(new Event("scroll")); // the browser says so only in the next frame
    article?.classList.add("pointed");
    const button = article?.querySelector<HTMLElement>(".card button:not(:disabled), .card input");
    button?.focus({ preventScroll: true });
    const timer = setTimeout(() => article?.classList.remove("pointed"), 2500);
    return () => clearTimeout(timer);
  }, [jumpTo, visit, isDrawn, list]);
}

/** Tells when the element comes into sight. */
export function useSight(onSeen: () => void): RefObject<HTMLDivElement | null> {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) onSeen();
    });
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, [onSeen]);
  return element;
}
