import { useEffect, useRef, useState } from "react";
import type { ToolProps } from "@roomful/react";
import { Bars } from "./chart/Bars.tsx";
import { Line } from "./chart/Line.tsx";
import { Pie } from "./chart/Pie.tsx";
import { pointsIn, said, type Point } from "./chart/points.ts";
import { Card, Ending, Missing, Rows } from "./Card.tsx";
import { fields, others, text } from "./read.ts";

const MOST = 60;
const DRAWN = ["type", "title", "data", "unit"];

/** `{type, title?, data, unit?}`; display only. */
export function Chart({ args, result, status, part }: ToolProps) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const data = args.data ?? (status === "complete" ? fields(result).data : undefined);
  const { points, strange } = pointsIn(data);
  const shown = points.slice(0, MOST);
  const [title, unit] = [text(args.title), text(args.unit)];
  const Drawn = drawnAs(text(args.type), shown);
  return (
    <Card part={part} label={title || "Chart"} kind={`${Drawn === Line ? "Line" : Drawn === Pie ? "Pie" : "Bar"} chart`} className="chart-card">
      <div className="chart" ref={frame}>
        {shown.length > 0 && <Drawn points={shown} width={width} unit={unit} />}
      </div>
      {!shown.length && (status === "streaming" ? <div className="chart-awaited" aria-hidden="true" /> : <p className="quiet">No numbers to draw.</p>)}
      {points.length > MOST && <p className="quiet">The first {MOST} of {points.length} values are drawn.</p>}
      {strange.length > 0 && <p className="quiet" dir="auto">Not a number: {strange.slice(0, 5).join(", ").slice(0, 300)}</p>}
      <Numbers title={title} points={points} unit={unit} />
      {shown.length > 0 && <Missing part={part} wide />}
      <Rows rows={others(args, DRAWN)} />
      <Ending part={part} />
    </Card>
  );
}

/** A pie needs shares of a whole: anything else is drawn as bars. */
function drawnAs(type: string, points: Point[]) {
  if (type === "line") return Line;
  const isWhole = points.every(({ value }) => value >= 0) && points.some(({ value }) => value > 0);
  return type === "pie" && isWhole ? Pie : Bars;
}

/** For those who hear the page. */
function Numbers({ title, points, unit }: { title: string; points: Point[]; unit: string }) {
  if (!points.length) return null;
  return (
    <table className="unseen">
      <caption>{title || "Chart"}</caption>
      <thead><tr><th scope="col">Label</th><th scope="col">{unit || "Value"}</th></tr></thead>
      <tbody>
        {points.slice(0, 500).map(({ label, value }, index) => <tr key={index}><th scope="row">{label}</th><td>{said(value, unit)}</td></tr>)}
      </tbody>
    </table>
  );
}

function useWidth(frame: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(480);
  useEffect(() => {
    const found = frame.current;
    if (!found) return;
    const watch = new ResizeObserver(([entry]) => {
      if (entry && entry.contentRect.width > 0) setWidth(Math.round(entry.contentRect.width));
    });
    watch.observe(found);
    return () => watch.disconnect();
  }, [frame]);
  return width;
}
