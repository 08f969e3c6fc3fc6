import { said, type Drawing, type Point } from "./points.ts";

const SIZE = 168;
const R = SIZE / 2;
const SLICES = 8;

/** The largest shares; the small ones together are the last. */
export function Pie({ points, unit }: Drawing) {
  const slices = largest(points);
  const total = slices.reduce((sum, { value }) => sum + value, 0);
  let from = 0;
  return (
    <div className="pie" aria-hidden="true">
      <svg className="drawing" width={SIZE} height={SIZE} viewBox={`0 0 ${SIZE} ${SIZE}`}>
        {slices.map(({ label, value }, index) => {
          const start = from;
          from += value / total;
          return <path key={index} className={`slice slice-${index}`} d={slice(start, from)}><title>{`${label}: ${said(value, unit)}`}</title></path>;
        })}
      </svg>
      <ul className="legend">
        {slices.map(({ label, value }, index) => (
          <li key={index}>
            <span className={`key slice-${index}`} />
            <span className="legend-label" dir="auto">{label}</span>
            <span className="legend-value">{said(value, unit)}{unit !== "%" && <span className="quiet"> · {Math.round((value / total) * 100)}%</span>}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function largest(points: Point[]): Point[] {
  if (points.length <= SLICES) return points;
  const sorted = points.toSorted((a, b) => b.value - a.value);
  const rest = sorted.slice(SLICES - 1).reduce((sum, { value }) => sum + value, 0);
  return [...sorted.slice(0, SLICES - 1), { label: "Others", value: rest }];
}

function slice(from: number, to: number): string {
  // A whole circle has no corners: an arc to where it began is not drawn.
  const end = Math.min(to, from + 0.99999);
  const at = (turn: number) => {
    const angle = (turn - 0.25) * 2 * Math.PI;
    return `${(R + (R - 1) * Math.cos(angle)).toFixed(3)} ${(R + (R - 1) * Math.sin(angle)).toFixed(3)}`;
  };
  return `M${R} ${R}L${at(from)}A${R - 1} ${R - 1} 0 ${end - from > 0.5 ? 1 : 0} 1 ${at(end)}Z`;
}
