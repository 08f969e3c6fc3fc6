import { shortFigure } from "../format.ts";
import { fitted, type Point } from "./points.ts";

export const HEIGHT = 220;
export const TOP = 20;
export const BOTTOM = 24;
export const LEFT = 44;

interface AxesProps { ticks: number[]; y(value: number): number; width: number; unit: string }

export function Axes({ ticks, y, width, unit }: AxesProps) {
  return (
    <g className="axes">
      {ticks.map((tick) => (
        <g key={tick}>
          <line className={tick === 0 ? "axis" : "grid"} x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
          <text className="tick" x={LEFT - 8} y={y(tick)} dy="0.32em" textAnchor="end">{shortFigure(tick)}</text>
        </g>
      ))}
      {unit && <text className="tick" x={0} y={9}>{fitted(unit, width / 2)}</text>}
    </g>
  );
}

/** As many labels as there is room for. */
export function Labels({ points, x, slot }: { points: Point[]; x(index: number): number; slot: number }) {
  const every = Math.max(1, Math.ceil(44 / slot));
  return (
    <g className="labels">
      {points.map(({ label }, index) => index % every === 0 && (
        <text key={index} className="tick" x={x(index)} y={HEIGHT - 6} textAnchor="middle">
          {fitted(label, slot * every - 6)}<title>{label}</title>
        </text>
      ))}
    </g>
  );
}
