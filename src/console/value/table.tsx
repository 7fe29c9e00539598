import { useSignal } from "@preact/signals";
import { MoreButton } from "../ui/parts.tsx";
import { formatCount, visibleName, visibleProse } from "../ui/text.tsx";

const rowsPerStep = 500;
const maxColumns = 50;
const maxCell = 200;

/** Returns whether a value can be shown as a table: a list of objects. */
export function isTable(value: unknown): value is Record<string, unknown>[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((row) => typeof row === "object" && row !== null && !Array.isArray(row))
  );
}

/** A list of objects as a table. Its columns are the properties of all rows. */
export function ValueTable({ rows }: { rows: readonly Record<string, unknown>[] }) {
  const shown = useSignal(rowsPerStep);
  const columns = [...new Set(rows.slice(0, 2_000).flatMap((row) => Object.keys(row)))];
  const visible = columns.slice(0, maxColumns);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section class="table-box" aria-label="Table of the result" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {visible.map((column) => (
              <th scope="col" key={column}>
                <bdi>{visibleName(column)}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown.value).map((row, at) => (
            <tr key={at}>
              {visible.map((column) => (
                <td key={column}>
                  <bdi>{cellOf(row[column])}</bdi>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {columns.length > maxColumns && (
        <p class="muted">{formatCount(columns.length - maxColumns)} columns are not shown.</p>
      )}
      <MoreButton shown={shown} step={rowsPerStep} total={rows.length} noun="rows" />
    </section>
  );
}

function cellOf(value: unknown): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return visibleProse(text.length > maxCell ? `${text.slice(0, maxCell)}…` : text);
}
