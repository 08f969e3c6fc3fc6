// Completing @names, from the members of the space.

import { useEffect, useMemo, useState, type KeyboardEvent, type RefObject } from "react";
import { useAui } from "@assistant-ui/react";
import type { Member } from "@roomful/client";
import { Avatar } from "../Avatar.tsx";
import { useScene } from "./scene.ts";

const TYPED = /(?:^|\s)@([\p{L}\p{N}_. -]{0,40})$/u;
const MOST = 6;

export function useMentions(text: string, input: RefObject<HTMLTextAreaElement | null>) {
  const aui = useAui();
  const { members, me } = useScene();
  const [caret, setCaret] = useState(0);
  const [at, setAt] = useState(0);
  const [dismissed, setDismissed] = useState<string | null>(null);
  const typed = TYPED.exec(text.slice(0, caret))?.[1];
  const found = useMemo(() => matching([...members.values()], me, typed), [members, me, typed]);
  const isOpen = found.length > 0 && typed !== undefined && dismissed !== typed;
  useEffect(() => setAt(0), [typed]);

  const choose = (member: Member) => {
    const before = text.slice(0, caret - (typed?.length ?? 0));
    const after = `${before}${member.name} `;
    aui.composer().setText(after + text.slice(caret));
    requestAnimationFrame(() => input.current?.setSelectionRange(after.length, after.length));
    setCaret(after.length);
    setDismissed(`${member.name} `);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((at + step + found.length) % found.length);
    else if (event.key === "Enter" || event.key === "Tab") choose(found[at]!);
    else if (event.key === "Escape") setDismissed(typed);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return {
    found: isOpen ? found : [], at, choose, onKeyDown,
    onSelect: () => setCaret(input.current?.selectionStart ?? 0),
    aria: isOpen
      ? { "aria-autocomplete": "list", "aria-controls": "mentions", "aria-activedescendant": `mention-${at}` } as const
      : {},
  };
}

function matching(members: Member[], me: string, typed: string | undefined): Member[] {
  if (typed === undefined) return [];
  const wanted = typed.trim().toLowerCase();
  const fits = ({ entityId, name }: Member) =>
    entityId !== me && (name.toLowerCase().startsWith(wanted) || entityId.toLowerCase().startsWith(wanted));
  return members.filter(fits).slice(0, MOST);
}

interface ListProps { found: Member[]; at: number; choose(member: Member): void }

export function Mentions({ found, at, choose }: ListProps) {
  if (!found.length) return null;
  return (
    <ul id="mentions" className="mentions" role="listbox" aria-label="Mention">
      {found.map((member, number) => (
        <li
          key={member.entityId} id={`mention-${number}`} role="option" aria-selected={number === at}
          onMouseDown={(event) => { event.preventDefault(); choose(member); }}
        >
          <Avatar id={member.entityId} name={member.name} isAgent={member.kind === "agent"} />
          <span dir="auto">{member.name}</span>
          <small>{member.kind === "agent" ? "agent" : member.role}</small>
        </li>
      ))}
    </ul>
  );
}
