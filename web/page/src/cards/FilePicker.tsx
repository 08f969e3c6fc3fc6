import { useId, useState } from "react";
import { useToolResult, type ToolProps, type ToolResult } from "@roomful/react";
import { BlobImage, BlobLink, useUpload } from "../blobs.tsx";
import { refusalOf } from "../files.ts";
import { Card, Ending, Missing, Problem, Rows, Settled } from "./Card.tsx";
import { fileSize } from "./format.ts";
import { FileIcon } from "./icons.tsx";
import { fields, isBlob, list, others, text } from "./read.ts";

const MOST = 20;
const DRAWN = ["question", "accept", "multiple"];

/** `{question, accept?, multiple?}` → `{files: [{blobId, url, name, mediaType, size}]}` */
export function FilePicker({ args, status, result, part }: ToolProps) {
  const { canAnswer, answer, problem, answeredBy, answeredAt } = useToolResult();
  const { files, choose, drop, send, isBusy, failure } = useFiles(answer, args.multiple === true);
  const field = useId();
  const question = text(args.question);
  const isOpen = status === "waiting" || status === "streaming";
  const isReady = canAnswer && !isBusy;

  const footer = (
    <>
      {status === "complete" && <Settled verb="Answered" by={answeredBy} at={answeredAt} />}
      {isOpen && files.length > 0 && (
        <div className="acts">
          <button type="button" className="act act-main" disabled={!isReady} onClick={() => void send()}>
            {isBusy ? "Sending…" : files.length === 1 ? "Send file" : `Send ${files.length} files`}
          </button>
        </div>
      )}
      <Problem>{failure ?? problem}</Problem>
    </>
  );

  return (
    <Card part={part} label={question || "File"} kind={args.multiple === true ? "Files" : "File"} className="file-picker" footer={footer}>
      {!question && <Missing part={part} wide />}
      {isOpen && (
        <label className="drop" htmlFor={field} data-off={!isReady} onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => { event.preventDefault(); if (isReady) choose(event.dataTransfer.files); }}>
          <FileIcon />
          <span>{args.multiple === true ? "Choose files" : "Choose a file"}<span className="quiet drop-hint"> or drop here</span></span>
          <input id={field} className="unseen" type="file" multiple={args.multiple === true} accept={text(args.accept).slice(0, 200) || undefined}
            disabled={!isReady} onChange={(event) => { choose(event.target.files); event.target.value = ""; }} />
        </label>
      )}
      {isOpen && <Chosen files={files} canDrop={isReady} onDrop={drop} />}
      {status === "complete" && <Sent files={list(fields(result).files)} />}
      <Rows rows={others(args, DRAWN)} />
      <Ending part={part} />
    </Card>
  );
}

function useFiles(answer: ToolResult["answer"], multiple: boolean) {
  const upload = useUpload();
  const [files, setFiles] = useState<readonly File[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);

  async function send() {
    setBusy(true);
    setFailure(null);
    try {
      const sent = [];
      for (const file of files) {
        const { blobId, url, mediaType, size } = await upload(file);
        sent.push({ blobId, url, name: file.name, mediaType, size });
      }
      await answer({ files: sent });
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  }

  function choose(found: FileList | null) {
    const chosen = [...(found ?? [])];
    const fresh = chosen.filter((file) => refusalOf(file) === null);
    setFailure(chosen.map(refusalOf).find((refusal) => refusal !== null) ?? null);
    if (fresh.length) setFiles(multiple ? [...files, ...fresh].slice(0, MOST) : fresh.slice(0, 1));
  }

  return { files, choose, drop: (file: File) => setFiles(files.filter((each) => each !== file)), send, isBusy, failure };
}

interface ChosenProps { files: readonly File[]; canDrop: boolean; onDrop(file: File): void }

function Chosen({ files, canDrop, onDrop }: ChosenProps) {
  if (!files.length) return null;
  return (
    <ul className="files">
      {files.map((file, index) => (
        <li className="file" key={index}>
          <FileIcon /><span className="file-name" dir="auto">{file.name}</span><span className="quiet">{fileSize(file.size)}</span>
          <button type="button" className="act act-quiet" disabled={!canDrop} aria-label={`Remove ${file.name}`} onClick={() => onDrop(file)}>Remove</button>
        </li>
      ))}
    </ul>
  );
}

function Sent({ files }: { files: unknown[] }) {
  return (
    <ul className="files">
      {files.map(fields).map(({ url, name, mediaType, size }, index) => (
        <li className="file" key={index}>
          {isBlob(url) && /^image\//.test(text(mediaType)) ? <BlobImage url={url} alt={text(name)} /> : <FileIcon />}
          <span className="file-name" dir="auto">{isBlob(url) ? <BlobLink url={url}>{text(name) || "File"}</BlobLink> : text(name) || "File"}</span>
          <span className="quiet">{fileSize(size)}</span>
        </li>
      ))}
    </ul>
  );
}
