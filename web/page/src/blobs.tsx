// Files of the gateway. They are fetched with whoever's token this window has, and shown from memory.

import { createContext, useContext, useEffect, useState, type ReactNode } from "react";
import type { BlobMade, Client } from "@roomful/client";
import { fileSize } from "./cards/format.ts";

const Source = createContext<Client | null>(null);
export const BlobSource = Source.Provider;

export const blobUrl = (id: string) => `/api/blobs/${id}`;

function useClient(): Client {
  const client = useContext(Source);
  if (!client) throw new Error("files need a BlobSource around them");
  return client;
}

export function useUpload(): (file: File) => Promise<BlobMade> {
  const client = useClient();
  return (file) => client.upload(file);
}

interface Named { kind: "file"; name: string; size: number }
interface Opened { kind: "image"; src: string; file: Named }
type Found = Opened | Named | { kind: "gone" } | null;

/** What a blob is: a picture that may be shown, a file with a name, or gone. */
function useBlob(url: string): Found {
  const client = useClient();
  const [found, setFound] = useState<Found>(null);
  useEffect(() => {
    const control = new AbortController();
    let src = "";
    void find(client, url, control.signal).then((what) => {
      if (what?.kind === "image") src = what.src;
      if (control.signal.aborted) URL.revokeObjectURL(src);
      else setFound(what);
    });
    return () => {
      control.abort();
      if (src) URL.revokeObjectURL(src);
    };
  }, [client, url]);
  return found;
}

async function find(client: Client, url: string, signal: AbortSignal): Promise<Found> {
  try {
    const answer = await client.open("GET", url, { signal });
    const file: Named = { kind: "file", name: fileName(answer.headers), size: Number(answer.headers.get("content-length")) };
    if (answer.headers.get("content-disposition")?.startsWith("inline")) {
      return { kind: "image", src: URL.createObjectURL(await answer.blob()), file };
    }
    await answer.body?.cancel();
    return file;
  } catch {
    return signal.aborted ? null : { kind: "gone" };
  }
}

function fileName(headers: Headers): string {
  const given = /filename\*=UTF-8''([^;]+)/.exec(headers.get("content-disposition") ?? "")?.[1];
  try {
    return given ? decodeURIComponent(given) : "File";
  } catch {
    return "File";
  }
}

export function BlobImage({ url, alt }: { url: string; alt: string }) {
  return <BlobView url={url} alt={alt} />;
}

/** A picture, or a file to save. */
export function BlobView({ url, alt = "" }: { url: string; alt?: string }) {
  const found = useBlob(url);
  const [broken, setBroken] = useState("");
  if (!found) return <span className="blob pending" aria-busy="true" />;
  if (found.kind === "gone") return <Gone />;
  if (found.kind === "file") return <Saved url={url} file={found} />;
  if (broken === found.src) return <Saved url={url} file={found.file} />;
  return <img className="blob" src={found.src} alt={alt || "Attached picture"} onError={() => setBroken(found.src)} />;
}

function Saved({ url, file: { name, size } }: { url: string; file: Named }) {
  return <BlobLink url={url} name={name}>{name} · {fileSize(size)}</BlobLink>;
}

function Gone() {
  return <span className="blob gone">This file is not here any more.</span>;
}

export function BlobLink({ url, name = "file", children }: { url: string; name?: string; children: ReactNode }) {
  const client = useClient();
  const [isGone, setGone] = useState(false);
  const save = async () => {
    const answer = await client.open("GET", url);
    const href = URL.createObjectURL(await answer.blob());
    Object.assign(document.createElement("a"), { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  };
  if (isGone) return <Gone />;
  return <button className="file" onClick={() => void save().catch(() => setGone(true))}>{children}</button>;
}
