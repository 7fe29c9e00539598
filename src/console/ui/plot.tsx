import type { ComponentChildren } from "preact";
import type { StatsPoint } from "../app/stats.ts";
import { formatCount, formatDuration, formatTime } from "./text.tsx";

/** A series of a plot. */
export interface Series {
  name: string;
  /** Class of its bars or its line: `ok`, `bad`, `p50`, `p95`. */
  kind: "calls" | "failed" | "p50" | "p95" | "value";
  values: readonly (number | undefined)[];
}

interface PlotProps {
  label: string;
  /** Times of the points, in milliseconds since the epoch. */
  at: readonly number[];
  series: readonly Series[];
  format?(value: number): string;
  height?: number;
}

const width = 600;

/** Bars or a line for at most a few hundred points, and the same as a table for those who cannot see it. */
export function Plot({ label, at, series, format = formatCount, height = 48 }: PlotProps) {
  const max = Math.max(1, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const step = width / Math.max(1, at.length);
  const y = (value: number) => height - (value / max) * (height - 2);
  return (
    <figure class="plot">
      <figcaption>
        {label} <span class="muted">max {format(max)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {series.map(({ name, kind, values }) =>
          kind === "calls" || kind === "failed" ? (
            <path key={name} class={`bars ${kind}`} d={values.map((value, index) => bar(index, value ?? 0)).join("")} />
          ) : (
            <path key={name} class={`line ${kind}`} d={line(values)} />
          ),
        )}
      </svg>
      <table class="visually-hidden">
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">time</th>
            {series.map(({ name }) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {at.map((time, index) => (
            <tr key={time}>
              <th scope="row">{formatTime(time, { millis: false })}</th>
              {series.map(({ name, values }) => (
                <td key={name}>{values[index] === undefined ? "–" : format(values[index])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );

  function bar(index: number, value: number): string {
    return value === 0
      ? ""
      : `M${(index * step + 0.5).toFixed(1)} ${height}V${y(value).toFixed(1)}h${Math.max(1, step - 1).toFixed(1)}V${height}z`;
  }

  function line(values: readonly (number | undefined)[]): string {
    let command = "M";
    return values
      .map((value, index) => {
        if (value === undefined) {
          command = "M";
          return "";
        }
        // A point without neighbours is a line without length, whose round ends show.
        const point = `${command}${((index + 0.5) * step).toFixed(1)} ${y(value).toFixed(1)}h0`;
        command = "L";
        return point;
      })
      .join("");
  }
}

/** Numbers and durations of calls over time. */
export function CallPlots({ points, children }: { points: readonly StatsPoint[]; children?: ComponentChildren }) {
  const at = points.map((point) => point.at);
  const pick = (name: "calls" | "failed" | "p50" | "p95", kind = name) => ({
    name,
    kind,
    values: points.map((point) => point[name]),
  });
  return (
    <div class="plots">
      <Plot label="calls and failures" at={at} series={[pick("calls"), pick("failed")]} />
      <Plot
        label="duration: half and 95 % of the calls"
        at={at}
        format={formatDuration}
        series={[pick("p50"), pick("p95")]}
      />
      {children}
    </div>
  );
}
