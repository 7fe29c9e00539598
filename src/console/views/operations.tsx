import { useComputed, useSignal } from "@preact/signals";
import { useCallback, useMemo } from "preact/hooks";
import { type BriefOperation, type Facets, idOf, type OperationList } from "../app/api.ts";
import { ask } from "../app/hub.ts";
import { debounced, useQuery } from "../app/query.ts";
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

/** The operations that the caller may call: searched with the ranking of the hub, filtered, loaded page by page. */
export function Operations() {
  const text = useSignal(route.peek().params.get("q") ?? "");
  const typed = useMemo(() => debounced(text, 60), [text]);
  const filter = useComputed(() => {
    const { params } = route.value;
    return Object.fromEntries(
      filters.flatMap(([facet, name]) => ((params.get(name) ?? "") ? [[facet, params.get(name)!]] : [])),
    );
  });
  const more = useSignal<{ of: OperationList | undefined; rows: BriefOperation[] }>({ of: undefined, rows: [] });
  const [query, again] = useQuery((abort) => load(typed.value, filter.value, 0, abort));
  const { data } = query;
  const rows = data === undefined ? [] : [...data.operations, ...(more.value.of === data ? more.value.rows : [])];
  const isLoadingMore = useSignal(false);
  const loadMore = useCallback(async () => {
    if (data === undefined || isLoadingMore.peek()) return;
    isLoadingMore.value = true;
    const known = more.peek().of === data ? more.peek().rows : [];
    const next = await load(typed.peek(), filter.peek(), data.operations.length + known.length).catch(() => undefined);
    if (next !== undefined) more.value = { of: data, rows: [...known, ...next.operations] };
    isLoadingMore.value = false;
  }, [data, more, typed, filter, isLoadingMore]);
  const search = (value: string) => {
    text.value = value;
    setParams({ q: value });
  };
  const isFiltered = text.value !== "" || Object.keys(filter.value).length > 0;
  return (
    <div class="view list-view">
      <header class="view-header">
        <h1>Operations</h1>
        <SearchBox label="Search operations" value={text.value} onInput={search} />
        {filters.map(([facet, name, all]) => (
          <Select
            key={facet}
            label={facet}
            all={all}
            value={filter.value[facet] ?? ""}
            options={optionsOf(data?.facets?.[facet])}
            onChange={(value) => setParams({ [name]: value })}
          />
        ))}
        {data !== undefined && (
          <span class="count" data-count={data.total}>
            {formatCount(data.total)}
          </span>
        )}
      </header>
      <Loaded query={query} again={again}>
        {({ total }) =>
          total === 0 ? (
            <NoOperations
              isFiltered={isFiltered}
              onClear={() => {
                search("");
                setParams({ ns: "", source: "", tag: "", type: "" });
              }}
            />
          ) : (
            <Rows
              label="Operations"
              items={rows}
              total={total}
              height={32}
              keyOf={idOf}
              hrefOf={hrefOf}
              attributesOf={attributesOf}
              onNearEnd={loadMore}
            >
              {OperationRow}
            </Rows>
          )
        }
      </Loaded>
    </div>
  );
}

const hrefOf = (operation: BriefOperation) => hrefTo("operations", idOf(operation));
const attributesOf = (operation: BriefOperation) => ({ "data-operation": idOf(operation) });

function OperationRow(operation: BriefOperation) {
  const { type, kind, description, title } = operation;
  return (
    <>
      <KindMark kind={kind} />
      <span class="cell-name">
        <OperationName id={idOf(operation)} />
      </span>
      <span class={`cell-type type-${type}`}>{type}</span>
      <span class="cell-text">{visibleProse(title ?? description.split("\n", 1)[0]!)}</span>
    </>
  );
}

function NoOperations({ isFiltered, onClear }: { isFiltered: boolean; onClear(): void }) {
  if (isFiltered) {
    return (
      <Empty title="No operation matches">
        <Button onClick={onClear}>Clear the filters</Button>
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

async function load(
  query: string,
  filter: Record<string, string>,
  offset: number,
  abort?: AbortSignal,
): Promise<OperationList> {
  return ask<OperationList>(
    "operations",
    { query, ...filter, offset, limit: pageSize, brief: true, facets: offset === 0 },
    abort,
  );
}

function optionsOf(counts: Record<string, number> = {}): [string, string][] {
  return Object.entries(counts).map(([value, count]) => [value, `${visibleName(value)} (${formatCount(count)})`]);
}
