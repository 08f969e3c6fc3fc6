import { shortFigure } from "../format.ts";
import { Axes, BOTTOM, HEIGHT, Labels, LEFT, TOP } from "./Axes.tsx";
import { said, scale, type Drawing, type Point } from "./points.ts";

export function Line({ points, width, unit }: Drawing) {
  const { least, greatest, ticks } = scale(points.map(({ value }) => value), false);
  const y = (value: number) => TOP + ((greatest - value) / (greatest - least)) * (HEIGHT - TOP - BOTTOM);
  const slot = Math.max(1, (width - LEFT) / points.length);
  const x = (index: number) => LEFT + slot * (index + 0.5);
  const path = points.map(({ value }, index) => `${index ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const floor = `L${x(points.length - 1).toFixed(1)} ${HEIGHT - BOTTOM}L${x(0).toFixed(1)} ${HEIGHT - BOTTOM}Z`;
  return (
    <svg className="drawing" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
      <Axes ticks={ticks} y={y} width={width} unit={unit} />
      {points.length > 1 && <path className="area" d={path + floor} />}
      <path className="line" d={path} />
      {points.map(({ label, value }, index) => (
        <g key={index}>
          <circle className="dot" cx={x(index)} cy={y(value)} r={slot > 14 ? 3.5 : 2}><title>{`${label}: ${said(value, unit)}`}</title></circle>
          {slot >= 36 && <text className="mark" x={x(index)} y={y(value) + (isLow(points, index) ? 18 : -9)} textAnchor="middle">{shortFigure(value)}</text>}
        </g>
      ))}
      <Labels points={points} x={x} slot={slot} />
    </svg>
  );
}

/** The line rises on both sides: the figure has room below. */
function isLow(points: Point[], index: number): boolean {
  const [before, here, after] = [points[index - 1], points[index], points[index + 1]];
  return !!before && !!here && !!after && before.value > here.value && after.value > here.value;
}
