import { useComputed, useSignal } from "@preact/signals";
import { useCallback, useMemo } from "preact/hooks";
import { type BriefOperation, type Facets, type HubStats, idOf, type OperationList } from "../app/api.ts";
import { ask, mayReadCalls } from "../app/hub.ts";
import { debounced, usePages, useQuery } from "../app/query.ts";
import { hrefTo, route, setParams } from "../app/router.ts";
import { KindMark } from "../ui/icons.tsx";
import { Button, SearchBox, Select } from "../ui/parts.tsx";
import { Rows } from "../ui/rows.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { formatCount, OperationName, visibleName, visibleProse } from "../ui/text.tsx";

const pageSize = 100;
const filters = [
  ["source", "source", "All sources"],
  ["namespace", "ns", "All namespaces"],
  ["tag", "tag", "All tags"],
  ["type", "type", "All types"],
] as const satisfies readonly (readonly [facet: keyof Facets, param: string, all: string])[];
const noFilters = Object.fromEntries(filters.map(([, name]) => [name, ""]));

/** The operations that the caller may call: searched with the ranking of the hub, filtered, loaded page by page. */
export function Operations() {
  const text = useSignal(route.peek().params.get("q") ?? "");
  const typed = useMemo(() => debounced(text, 60), [text]);
  const filter = useComputed(() => {
    const { params } = route.value;
    const given = filters.map(([facet, name]) => [facet, params.get(name) ?? ""] as const);
    return Object.fromEntries(given.filter(([, value]) => value !== ""));
  });
  const load = useCallback(
    (offset: number, abort?: AbortSignal) => {
      const page = { offset, limit: pageSize, brief: true, facets: offset === 0 };
      return ask<OperationList>("operations", { query: typed.value, ...filter.value, ...page }, abort);
    },
    [typed, filter],
  );
  const [query, again] = useQuery((abort) => load(0, abort));
  const [pages, loadMore] = usePages(
    query.data,
    useCallback((known) => load(known.reduce((sum, { operations }) => sum + operations.length, 0)), [load]),
  );
  const [stats] = useQuery((abort) => loadCounts(abort));
  const search = (value: string) => {
    text.value = value;
    setParams({ q: value });
  };
  const clear = () => {
    search("");
    setParams(noFilters);
  };
  return (
    <div class="view list-view">
      <header class="view-header">
        <h1>Operations</h1>
        <SearchBox label="Search operations" value={text.value} onInput={search} />
        <div class="filters">
          {filters.map(([facet, name, all]) => (
            <Select
              key={facet}
              label={facet}
              all={all}
              value={filter.value[facet] ?? ""}
              options={optionsOf(query.data?.facets?.[facet])}
              onChange={(value) => setParams({ [name]: value })}
            />
          ))}
        </div>
        {query.data !== undefined && (
          <span class="count" data-count={query.data.total}>
            {formatCount(query.data.total)}
          </span>
        )}
      </header>
      <Loaded query={query} again={again}>
        {({ total }) =>
          total === 0 ? (
            <NoOperations isFiltered={text.value !== "" || Object.keys(filter.value).length > 0} onClear={clear} />
          ) : (
            <Rows<BriefOperation>
              label="Operations"
              items={pages.flatMap(({ operations }) => operations)}
              total={total}
              keyOf={idOf}
              hrefOf={(operation) => hrefTo("operations", idOf(operation))}
              attributesOf={(operation) => ({ "data-operation": idOf(operation) })}
              onNearEnd={loadMore}
            >
              {(operation) => <OperationRow operation={operation} counts={stats.data?.get(idOf(operation))} />}
            </Rows>
          )
        }
      </Loaded>
    </div>
  );
}

type Counts = HubStats["groups"][number];

/** Calls of the last hour by operation, for those who may read calls. */
async function loadCounts(abort: AbortSignal): Promise<Map<string, Counts>> {
  if (!mayReadCalls()) return new Map();
  const { groups } = await ask<HubStats>("stats", { limit: 10_000 }, abort);
  return new Map(groups.map((group) => [group.key, group]));
}

/** One operation in a list. */
export function OperationRow({ operation, counts }: { operation: BriefOperation; counts?: Counts | undefined }) {
  const { type, kind, description, title } = operation;
  return (
    <>
      <KindMark kind={kind} />
      <span class="cell-name">
        <OperationName id={idOf(operation)} />
      </span>
      <span class={`cell-type type-${type}`}>{type}</span>
      <span class="cell-text">{visibleProse(title ?? description.split("\n", 1)[0]!)}</span>
      {counts !== undefined && (
        <span class="cell-counts">
          <span class="muted">{formatCount(counts.calls)}/h</span>{" "}
          {counts.failed > 0 && <span class="bad">{formatCount(counts.failed)} failed</span>}
        </span>
      )}
    </>
  );
}

function NoOperations({ isFiltered, onClear }: { isFiltered: boolean; onClear(): void }) {
  if (isFiltered) {
    return (
      <Empty title="No operation matches">
        <Button onClick={onClear}>Clear the search and the filters</Button>
      </Empty>
    );
  }
  return (
    <Empty title="There is nothing that you may call yet">
      <p>The hub has no sources, they are still connecting, or your identity lacks their scopes.</p>
      <p>
        <a href={hrefTo("sources")}>Look at the sources</a> or <a href={hrefTo("access")}>at your access</a>.
      </p>
    </Empty>
  );
}

function optionsOf(counts: Record<string, number> = {}): [string, string][] {
  return Object.entries(counts).map(([value, count]) => [value, `${visibleName(value)} (${formatCount(count)})`]);
}
