// Words, looked for in every space of mine.

import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { Found, Message, SpaceState } from "@roomful/client";
import { useLive } from "@roomful/react";
import { go } from "./place.ts";
import { asSentence, clock, day } from "./words.ts";

interface Props { spaces: SpaceState[]; onClose(): void }

export function Search({ spaces, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState("");
  const { results, isFresh, problem } = useResults(words);
  const [isAwaited, setAwaited] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => dialog.current?.close();
  const open = ({ spaceId, message }: Found) => {
    close();
    go(spaceId, message.id);
  };
  // Who presses Enter before the answer is there gets what belongs to these words, not to those before.
  useEffect(() => {
    if (!isAwaited || !isFresh) return;
    setAwaited(false);
    if (results?.[0]) open(results[0]);
  }, [isAwaited, isFresh]);
  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.nativeEvent.isComposing || event.altKey) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target instanceof HTMLInputElement) setAwaited(words.trim() !== "");
    else if (step) focusNext(dialog.current!, step);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} className="search" aria-label="Search" onClose={onClose} onKeyDown={pressed} onClick={(event) => {
      if (event.target === dialog.current) close();
    }}>
      <input
        type="search" autoFocus placeholder="Search in all spaces" aria-label="Search words" dir="auto"
        value={words} onChange={(event) => { setWords(event.target.value); setAwaited(false); }}
      />
      <p className="hint" role="status">{problem ? asSentence(problem) : summary(words, results)}</p>
      <ul>
        {results?.map((found) => (
          <li key={found.message.id}>
            <button onClick={() => open(found)}><Hit found={found} spaces={spaces} words={words} /></button>
          </li>
        ))}
      </ul>
    </dialog>
  );
}

function Hit({ found: { spaceId, message }, spaces, words }: { found: Found; spaces: SpaceState[]; words: string }) {
  const there = spaces.find(({ space }) => space.id === spaceId);
  const author = there?.members.get(message.entityId)?.name ?? message.entityId;
  return (
    <>
      <span className="where">{there?.space.name ?? spaceId} · {author} · {day(message.createdAt)} {clock(message.createdAt)}</span>
      <span dir="auto">{excerpt(message, words)}</span>
    </>
  );
}

/** From the field down through what was found, and back. */
function focusNext(dialog: HTMLElement, step: number): void {
  const stops = [...dialog.querySelectorAll<HTMLElement>("input, li button")];
  stops[stops.indexOf(document.activeElement as HTMLElement) + step]?.focus();
}

interface Answer { words: string; results: Found[] }

function useResults(words: string): { results: Found[] | null; isFresh: boolean; problem: string } {
  const { client } = useLive();
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let isOver = false;
    if (!words.trim()) return setAnswer(null);
    const timer = setTimeout(() => {
      client.search(words.trim().slice(0, 200)).then(
        ({ results }) => { if (!isOver) { setAnswer({ words, results }); setProblem(""); } },
        (error: Error) => { if (!isOver) setProblem(error.message); },
      );
    }, 150);
    return () => { isOver = true; clearTimeout(timer); };
  }, [client, words]);
  return { results: answer?.results ?? null, isFresh: answer?.words === words, problem };
}

function summary(words: string, results: Found[] | null): string {
  if (!words.trim() || !results) return "Type the words you look for.";
  return results.length ? `${results.length} found, newest first` : "Nothing found.";
}

function excerpt({ parts }: Message, words: string): string {
  const texts = parts.map((part) => (part.type === "tool_call" ? `${part.toolName} ${JSON.stringify(part.args ?? "")}` : part.text));
  const text = texts.find((each) => each.toLowerCase().includes(words.trim().toLowerCase())) ?? texts.join(" ");
  const at = Math.max(0, text.toLowerCase().indexOf(words.trim().toLowerCase()) - 40);
  return `${at ? "…" : ""}${text.slice(at, at + 160)}`;
}
