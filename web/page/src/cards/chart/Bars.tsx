import { shortFigure } from "../format.ts";
import { Axes, BOTTOM, HEIGHT, Labels, LEFT, TOP } from "./Axes.tsx";
import { said, scale, type Drawing } from "./points.ts";

export function Bars({ points, width, unit }: Drawing) {
  const { least, greatest, ticks } = scale(points.map(({ value }) => value), true);
  const y = (value: number) => TOP + ((greatest - value) / (greatest - least)) * (HEIGHT - TOP - BOTTOM);
  const slot = Math.max(1, (width - LEFT) / points.length);
  const thick = Math.max(1, Math.min(48, slot * 0.66));
  const x = (index: number) => LEFT + slot * (index + 0.5);
  return (
    <svg className="drawing" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
      <Axes ticks={ticks} y={y} width={width} unit={unit} />
      {points.map(({ label, value }, index) => (
        <g key={index}>
          <rect className="bar" x={x(index) - thick / 2} width={thick} y={Math.min(y(value), y(0))} rx={Math.min(4, thick / 4)}
            height={Math.max(1, Math.abs(y(value) - y(0)))}><title>{`${label}: ${said(value, unit)}`}</title></rect>
          {slot >= 30 && (
            <text className="mark" x={x(index)} y={value < 0 ? y(value) + 13 : y(value) - 6} textAnchor="middle">{shortFigure(value)}</text>
          )}
        </g>
      ))}
      <Labels points={points} x={x} slot={slot} />
    </svg>
  );
}
