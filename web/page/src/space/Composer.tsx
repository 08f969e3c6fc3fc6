// The place to write: drafts that stay, mentions that complete, files by drop and paste.

import { useEffect, useLayoutEffect, useRef, type ClipboardEvent, type KeyboardEvent, type RefObject } from "react";
import { ComposerPrimitive, useAui, useAuiState } from "@assistant-ui/react";
import type { Message } from "@roomful/client";
import { Icon } from "../Icon.tsx";
import { asSentence } from "../words.ts";
import { useAttachments, type Attached } from "./attachments.ts";
import { keepDraft, readDraft } from "./drafts.ts";
import { Mentions, useMentions } from "./Mentions.tsx";
import { brief } from "./Quote.tsx";
import { useNow, useScene } from "./scene.ts";

interface Props { sending: RefObject<(text: string) => void>; replyTo: Message | null; onReplied(): void }

export function Composer({ sending, replyTo, onReplied }: Props) {
  const space = useNow();
  const { spaceId, me, nameOf } = useScene();
  const input = useRef<HTMLTextAreaElement>(null);
  const files = useAttachments(spaceId);
  const text = useDraft(me, spaceId);
  const mentions = useMentions(text, input);
  useEffect(() => { if (replyTo) input.current?.focus(); }, [replyTo]);
  const isBlocked = files.isBusy || files.attached.some(({ problem }) => problem);
  sending.current = (said) => {
    space.send({
      text: said,
      attachments: files.attached.flatMap(({ blobId }) => (blobId ? [blobId] : [])),
      ...(replyTo && { replyTo: replyTo.id }),
    });
    files.clear();
    onReplied();
  };
  const sendFilesAlone = () => { if (!text.trim() && files.attached.length) sending.current(""); };
  useDrop(files.add);
  const pressed = (event: KeyboardEvent) => {
    mentions.onKeyDown(event);
    if (isBlocked && event.key === "Enter" && !event.shiftKey) event.preventDefault();
  };
  const paste = (event: ClipboardEvent) => {
    const pasted = [...event.clipboardData.files];
    if (!pasted.length) return;
    event.preventDefault();
    files.add(pasted);
  };
  return (
    <ComposerPrimitive.Root className="composer" onSubmit={sendFilesAlone}>
      {replyTo && (
        <p className="replying">
          <span>Reply to <b dir="auto">{nameOf(replyTo.entityId)}</b>: <span dir="auto">{brief(replyTo)}</span></span>
          <button type="button" className="icon-button" aria-label="Do not reply" onClick={onReplied}><Icon name="close" /></button>
        </p>
      )}
      <Files attached={files.attached} onDrop={files.drop} />
      <Mentions {...mentions} />
      <div className="row">
        <label className="icon-button attach" title="Attach a file">
          <Icon name="attach" />
          <span className="hidden">Attach a file</span>
          <input type="file" multiple className="hidden" onChange={(event) => {
            files.add([...event.target.files ?? []]);
            event.target.value = "";
          }} />
        </label>
        <ComposerPrimitive.Input
          ref={input} aria-label="Message" placeholder={`Write to ${space.space.name}`} dir="auto" maxRows={8}
          addAttachmentOnPaste={false} cancelOnEscape={false} unstable_focusOnScrollToBottom={false}
          onPaste={paste} onKeyDown={pressed} onSelect={mentions.onSelect} {...mentions.aria}
        />
        <button className="primary send" aria-label="Send" disabled={isBlocked || !(text.trim() || files.attached.length)}><Icon name="send" /></button>
      </div>
    </ComposerPrimitive.Root>
  );
}

/** The text in the composer, kept for each space until it is sent. */
function useDraft(me: string, spaceId: string): string {
  const aui = useAui();
  const text = useAuiState(({ composer }) => composer.text);
  useLayoutEffect(() => aui.composer().setText(readDraft(me, spaceId)), [me, spaceId]);
  useEffect(() => keepDraft(me, spaceId, text), [me, spaceId, text]);
  return text;
}

/** A file may be dropped anywhere on the page, which would otherwise be left for it. */
function useDrop(add: (files: File[]) => void): void {
  useEffect(() => {
    const over = (event: DragEvent) => event.preventDefault();
    const drop = (event: DragEvent) => {
      if (event.defaultPrevented) return; // a card took it
      event.preventDefault();
      add([...event.dataTransfer?.files ?? []]);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, [add]);
}

function Files({ attached, onDrop }: { attached: Attached[]; onDrop(key: string): void }) {
  if (!attached.length) return null;
  return (
    <ul className="files" aria-label="Attached files">
      {attached.map(({ key, name, blobId, problem }) => (
        <li key={key} className={problem ? "problem" : undefined}>
          <span>{name}</span>
          <small role="status">{(problem && asSentence(problem)) || (blobId ? "" : "uploading…")}</small>
          <button type="button" className="icon-button" aria-label={`Remove ${name}`} onClick={() => onDrop(key)}><Icon name="close" /></button>
        </li>
      ))}
    </ul>
  );
}
