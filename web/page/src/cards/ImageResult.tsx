import type { ToolProps } from "@roomful/react";
import { BlobImage } from "../blobs.tsx";
import { SafeLink } from "../markdown/SafeLink.tsx";
import { Card, Ending, Missing, Problem, Rows, stateOf } from "./Card.tsx";
import { ImageIcon } from "./icons.tsx";
import { fields, isBlob, isObject, list, others, text } from "./read.ts";
import { Long } from "./Value.tsx";

/** args `{prompt}`, result `{success, images: [{url}]}` or `{url}` or `{imageUrl}` */
export function ImageResult({ args, status, result, part }: ToolProps) {
  const prompt = text(args.prompt);
  const urls = urlsIn(result);
  const outcome = fields(result);
  const isBusy = status === "streaming" || status === "ready" || status === "running";
  const isEmpty = status === "complete" && !urls.length;
  return (
    <Card part={part} label={prompt ? `Image: ${prompt.slice(0, 80)}` : "Image"} title="Image" className="image-result" state={stateOf(isEmpty ? "error" : status)}>
      {prompt ? <p className="about" dir="auto"><Long value={prompt} /></p> : <Missing part={part} wide />}
      {isBusy && !urls.length && <div className="image-awaited"><ImageIcon /></div>}
      {urls.length > 0 && <div className="images">{urls.map((url, index) => <Picture key={index} url={url} alt={prompt || "Image"} />)}</div>}
      {isEmpty && <Problem>{text(outcome.error) || "No image came back."}</Problem>}
      <Rows rows={others(args, ["prompt"])} />
      <Ending part={part} />
    </Card>
  );
}

function Picture({ url, alt }: { url: string; alt: string }) {
  if (isBlob(url)) return <figure className="image"><BlobImage url={url} alt={alt} /></figure>;
  return <p className="about"><SafeLink href={url}>{url}</SafeLink></p>;
}

function urlsIn(result: unknown): string[] {
  if (typeof result === "string") return [result];
  const outcome = fields(result);
  const single = outcome.url ?? outcome.imageUrl;
  const named = outcome.images === undefined ? list(single) : list(outcome.images);
  return named.map((each) => text(isObject(each) ? (each.url ?? each.imageUrl) : each)).filter(Boolean).slice(0, 12);
}
