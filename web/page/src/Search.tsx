// Words, looked for in every space of mine.

import { useEffect, useRef, useState } from "react";
import type { Found, Message, SpaceState } from "@roomful/client";
import { useLive } from "@roomful/react";
import { go } from "./place.ts";
import { clock, day } from "./words.ts";

interface Props { spaces: SpaceState[]; onClose(): void }

export function Search({ spaces, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState("");
  const [results, problem] = useResults(words);
  useEffect(() => dialog.current?.showModal(), []);
  const open = ({ spaceId, message }: Found) => {
    onClose();
    go(spaceId, message.id);
  };
  return (
    <dialog ref={dialog} className="search" aria-label="Search" onClose={onClose} onClick={(event) => {
      if (event.target === dialog.current) onClose();
    }}>
      <input
        type="search" autoFocus placeholder="Search in all spaces" aria-label="Search words" dir="auto"
        value={words} onChange={(event) => setWords(event.target.value)}
      />
      <p className="hint" role="status">{problem || summary(words, results)}</p>
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

function useResults(words: string): [Found[] | null, string] {
  const { client } = useLive();
  const [results, setResults] = useState<Found[] | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let isOver = false;
    if (!words.trim()) return setResults(null);
    const timer = setTimeout(() => {
      client.search(words.trim().slice(0, 200)).then(
        (answer) => { if (!isOver) { setResults(answer.results); setProblem(""); } },
        (error: Error) => { if (!isOver) setProblem(error.message); },
      );
    }, 150);
    return () => { isOver = true; clearTimeout(timer); };
  }, [client, words]);
  return [results, problem];
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
