import { useToolResult, type ToolProps } from "@roomful/react";
import { BlobImage } from "../blobs.tsx";
import { SafeLink } from "../markdown/SafeLink.tsx";
import { Card, Ending, Missing, Problem, Rows, Settled } from "./Card.tsx";
import { figure, money } from "./format.ts";
import { StarIcon } from "./icons.tsx";
import { isBlob, numberIn, others, text } from "./read.ts";
import { Long } from "./Value.tsx";

const DRAWN = ["name", "price", "currency", "description", "image", "rating"];

/** `{name, price, currency?, description?, image?, rating?}` → `{selected: true}` */
export function ProductCard({ args, status, part }: ToolProps) {
  const { canAnswer, answer, problem, answeredBy, answeredAt } = useToolResult();
  const name = text(args.name);
  const price = money(args.price, args.currency);
  const asks = part.asks === "answer" || status === "waiting";

  const footer = (
    <>
      {answeredBy && status === "complete" && <Settled verb="Selected" by={answeredBy} at={answeredAt} />}
      {asks && (status === "waiting" || status === "streaming") && (
        <div className="acts">
          <button type="button" className="act act-main" disabled={!canAnswer} onClick={() => void answer({ selected: true })}>Select</button>
        </div>
      )}
      <Problem>{problem}</Problem>
    </>
  );

  return (
    <Card part={part} label={name || "Product"} kind="Product" className="product" footer={footer}>
      <div className="product-body">
        <Picture image={args.image} name={name} />
        <div className="product-facts">
          {price ? <p className="amount">{price}</p> : <Missing part={part} />}
          <Rating rating={args.rating} />
          {args.description ? <p className="about" dir="auto"><Long value={text(args.description)} /></p> : <Missing part={part} wide />}
        </div>
      </div>
      <Rows rows={others(args, DRAWN)} />
      <Ending part={part} />
    </Card>
  );
}

function Picture({ image, name }: { image: unknown; name: string }) {
  if (isBlob(image)) return <div className="product-image"><BlobImage url={image} alt={name || "Product"} /></div>;
  const other = text(image);
  return other ? <p className="about product-elsewhere"><SafeLink href={other}>{other}</SafeLink></p> : null;
}

function Rating({ rating }: { rating: unknown }) {
  const value = numberIn(rating);
  if (value === null) return rating === undefined || rating === null ? null : <p className="about" dir="auto">{text(rating)}</p>;
  return <p className="rating"><StarIcon /><span>{figure(value)}<span className="unseen"> stars</span></span></p>;
}
