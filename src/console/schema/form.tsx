import { useSignal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useId } from "preact/hooks";
import {
  choiceOf,
  type Field,
  type FieldKind,
  fieldKindOf,
  fieldsIn,
  labelsOf,
  parseNumber,
  startValueOf,
  writeDraft,
} from "../../contract/index.ts";
import { readPointer } from "../../internal/json-pointer.ts";
import { isSecretName } from "../../internal/secrets.ts";
import { Button, MoreButton } from "../ui/parts.tsx";
import { keepIn } from "../ui/set.ts";
import { formatBytes, Name, Prose, visibleName, visibleProse } from "../ui/text.tsx";
import type { Draft } from "./draft.ts";

/** Fields of one object or list that are drawn; a button draws the next ones. */
const maxFields = 100;
/** Enums with at most so many values are radio buttons. */
const maxRadios = 5;

interface FormState {
  draft: Draft;
  /** Messages by JSON pointer. */
  issues: ReadonlyMap<string, readonly string[]>;
  /** The text is not JSON: the form shows the last value, and does not change it. */
  isLocked: boolean;
}

const FormContext = createContext<FormState>(undefined as never);

/** A form for one JSON value. What it cannot draw is a box for JSON at that place. */
export function Form({ root, ...state }: FormState & { root: Field }) {
  return (
    <FormContext.Provider value={state}>
      <fieldset class="form" disabled={state.isLocked}>
        {state.isLocked && <p class="warn">Fix the JSON first: the form shows the last value that could be read.</p>}
        <Control field={root} depth={0} />
      </fieldset>
    </FormContext.Provider>
  );
}

function useValue(field: Field): [unknown, (value: unknown) => void] {
  const { draft } = useContext(FormContext);
  const value = readPointer(draft.value.value, field.pointer);
  return [value, (next) => draft.set(writeDraft(draft.value.peek(), field.pointer, next))];
}

/** A field with its name, its description, its messages, and the button that sets or removes an optional one. */
function Row({ field, depth, actions }: { field: Field; depth: number; actions?: preact.ComponentChild }) {
  const { issues } = useContext(FormContext);
  const [value, set] = useValue(field);
  const id = useId();
  const { pointer, label, isRequired, shape } = field;
  const description = shape.annotation("description");
  const initial = shape.annotation("default");
  const isSet = value !== undefined;
  const unsetText = initial === undefined ? "not set" : `default ${visibleProse(JSON.stringify(initial).slice(0, 60))}`;
  return (
    <div class={isSet || isRequired ? "field" : "field not-set"} data-field={pointer}>
      <label class="field-name" for={id}>
        <Name value={label} />
        {isRequired && (
          <span class="bad" title="required">
            *
          </span>
        )}
      </label>
      <div class="field-body">
        {isSet || isRequired ? (
          <Control field={field} depth={depth} id={id} />
        ) : (
          <Button
            kind="quiet"
            icon="plus"
            label={`${unsetText}, set ${visibleName(label)}`}
            onClick={() => set(initial ?? startValueOf(field))}
          >
            {unsetText}
          </Button>
        )}
        {isSet && !isRequired && (
          <Button kind="quiet" icon="close" label={`Remove ${visibleName(label)}`} onClick={() => set(undefined)} />
        )}
        {actions}
        {typeof description === "string" && (
          <p class="field-hint">
            <Prose value={description} max={300} />
          </p>
        )}
        {(issues.get(pointer) ?? []).map((message) => (
          <p class="bad field-issue" key={message} id={`${id}-issue`}>
            {visibleProse(message)}
          </p>
        ))}
      </div>
    </div>
  );
}

interface ControlProps {
  field: Field;
  depth: number;
  /** Of the control, for its label. */
  id?: string;
}

function Control({ field, depth, id }: ControlProps) {
  const [value, set] = useValue(field);
  const { issues } = useContext(FormContext);
  const kind = fieldKindOf(field, value);
  const isInvalid = issues.has(field.pointer);
  const common = {
    id,
    "aria-invalid": isInvalid,
    "aria-describedby": isInvalid && id !== undefined ? `${id}-issue` : undefined,
  };
  switch (kind) {
    case "text":
    case "time":
    case "date":
    case "date-time":
      return <TextControl common={common} field={field} kind={kind} value={value} set={set} />;
    case "multiline":
      return (
        <textarea
          {...common}
          rows={4}
          value={(value as string | undefined) ?? ""}
          onInput={(event) => set(event.currentTarget.value)}
        />
      );
    case "number":
      return <NumberControl common={common} value={value} set={set} />;
    case "switch":
      return (
        <span class="check">
          {value === undefined ? (
            <Button onClick={() => set(false)}>choose</Button>
          ) : (
            <input
              {...common}
              type="checkbox"
              checked={value === true}
              onChange={(event) => set(event.currentTarget.checked)}
            />
          )}
          {value === undefined ? "" : String(value)}
        </span>
      );
    case "enum":
      return <EnumControl common={common} field={field} value={value} set={set} />;
    case "null":
      return value === undefined ? (
        <Button onClick={() => set(null)}>set to null</Button>
      ) : (
        <code {...common}>null</code>
      );
    case "bytes":
      return <BytesControl common={common} value={value} set={set} />;
    case "object":
    case "map":
    case "list":
    case "tuple":
      return <Members field={field} kind={kind} depth={depth} />;
    case "union":
      return <UnionControl field={field} depth={depth} />;
    default:
      return <JSONBox common={common} value={value} set={set} />;
  }
}

interface LeafProps {
  common: { id?: string; "aria-invalid": boolean; "aria-describedby"?: string };
  value: unknown;
  set(value: unknown): void;
}

function TextControl({ common, field, kind, value, set }: LeafProps & { field: Field; kind: FieldKind }) {
  const name = field.pointer.slice(field.pointer.lastIndexOf("/") + 1);
  const isSecret = isSecretName(name);
  return (
    <>
      <input
        {...common}
        type={(isSecret ? "password" : kind === "date" ? "date" : "text") as "text"}
        autocomplete="off"
        spellcheck={false}
        placeholder={kind === "date-time" ? "2026-11-20T09:30:00Z" : kind === "time" ? "09:30:00Z" : undefined}
        value={(value as string | undefined) ?? ""}
        onInput={(event) => set(event.currentTarget.value)}
      />
      {kind === "date-time" && (
        <Button kind="quiet" onClick={() => set(new Date().toISOString())}>
          now
        </Button>
      )}
    </>
  );
}

/** Keeps what was typed: `1.` and `-` are on the way to a number. */
function NumberControl({ common, value, set }: LeafProps) {
  const typed = useSignal<string | undefined>(undefined);
  const text = typed.value ?? (value === undefined ? "" : String(value));
  const isUnread = typed.value !== undefined && typed.value !== "" && parseNumber(typed.value) === undefined;
  return (
    <>
      <input
        {...common}
        aria-invalid={common["aria-invalid"] || isUnread}
        inputMode="decimal"
        value={text}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          const number = parseNumber(typed.value);
          if (number !== undefined) set(number);
          else if (typed.value === "") set(undefined);
        }}
        onBlur={() => {
          if (!isUnread) typed.value = undefined;
        }}
      />
      {isUnread && (
        <span class="bad" role="alert">
          {/^\s*-?\d+\s*$/.test(typed.value!)
            ? "JavaScript would round this number. Send it as a string, if the operation allows it."
            : "This is not a number."}
        </span>
      )}
    </>
  );
}

function EnumControl({ common, field, value, set }: LeafProps & { field: Field }) {
  const values = field.shape.values ?? [];
  const labels = labelsOf(field).map(visibleName);
  const at = values.findIndex((one) => JSON.stringify(one) === JSON.stringify(value));
  const name = useId();
  if (values.length <= maxRadios) {
    return (
      <div class="radios" role="radiogroup" aria-label={visibleName(field.label)} {...common}>
        {values.map((one, index) => (
          <label key={labels[index]} class="check">
            <input type="radio" name={name} checked={index === at} onChange={() => set(one)} />
            {labels[index]}
          </label>
        ))}
      </div>
    );
  }
  return (
    <select {...common} value={String(at)} onChange={(event) => set(values[Number(event.currentTarget.value)])}>
      {at === -1 && <option value="-1">choose…</option>}
      {values.slice(0, 1_000).map((_, index) => (
        <option key={labels[index]} value={String(index)}>
          {labels[index]}
        </option>
      ))}
    </select>
  );
}

function BytesControl({ common, value, set }: LeafProps) {
  const { base64 = "", filename } = (value ?? {}) as { base64?: string; filename?: string };
  const read = async (file: File | undefined) => {
    if (file === undefined) return;
    const bytes = new Uint8Array(await file.arrayBuffer());
    let binary = "";
    for (let at = 0; at < bytes.length; at += 32_768) binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
    set({ base64: btoa(binary), filename: file.name, ...(file.type !== "" && { type: file.type }) });
  };
  return (
    <>
      <input {...common} type="file" onChange={(event) => void read(event.currentTarget.files?.[0])} />
      {base64 !== "" && (
        <span class="muted">
          {filename !== undefined && <Name value={filename} />} {formatBytes((base64.length * 3) / 4)}
        </span>
      )}
    </>
  );
}

/** What has no other kind, and values that do not fit the schema. The last text that parses counts. */
function JSONBox({ common, value, set }: LeafProps) {
  const typed = useSignal<string | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const write = (text: string) => {
    typed.value = text;
    problem.value = undefined;
    if (text.trim() === "") return set(undefined);
    try {
      set(JSON.parse(text));
    } catch (error) {
      problem.value = (error as Error).message;
    }
  };
  return (
    <>
      <textarea
        {...common}
        aria-label={common.id === undefined ? "JSON" : undefined}
        placeholder="JSON"
        rows={3}
        spellcheck={false}
        value={typed.value ?? (value === undefined ? "" : JSON.stringify(value, undefined, 2))}
        onInput={(event) => write(event.currentTarget.value)}
        onBlur={() => {
          if (problem.value === undefined) typed.value = undefined;
        }}
      />
      {problem.value !== undefined && (
        <span class="bad" role="alert">
          This is not JSON: {problem.value}
        </span>
      )}
    </>
  );
}

/** The properties of an object, or the elements of a list. */
function Members({ field, kind, depth }: { field: Field; kind: "object" | "map" | "list" | "tuple"; depth: number }) {
  const [value, set] = useValue(field);
  const shown = useSignal(maxFields);
  const fields = fieldsIn(field, value);
  const isList = kind === "list" || kind === "tuple";
  const elements = Array.isArray(value) ? value : [];
  const move = (from: number, to: number) => {
    const next = elements.toSpliced(from, 1);
    next.splice(to, 0, elements[from]);
    set(next);
  };
  const isDeclared = (name: string) => field.shape.properties.has(name);
  return (
    <div class={depth === 0 ? "members" : "members inner"}>
      {fields.slice(0, shown.value).map((inner, index) => (
        <Row
          key={inner.pointer}
          field={isList ? { ...inner, isRequired: true } : inner}
          depth={depth + 1}
          actions={
            isList && index < elements.length ? (
              <>
                {index > 0 && (
                  <Button kind="quiet" icon="up" label={`Move ${index} up`} onClick={() => move(index, index - 1)} />
                )}
                {index < elements.length - 1 && (
                  <Button
                    kind="quiet"
                    icon="down"
                    label={`Move ${index} down`}
                    onClick={() => move(index, index + 1)}
                  />
                )}
                <Button
                  kind="quiet"
                  icon="close"
                  label={`Remove ${index}`}
                  onClick={() => set(elements.toSpliced(index, 1))}
                />
              </>
            ) : undefined
          }
        />
      ))}
      <MoreButton shown={shown} step={maxFields} total={fields.length} noun="fields" />
      {isList && (
        <Button icon="plus" onClick={() => set([...elements, startValueOf(elementOf(field, elements.length))])}>
          Add
        </Button>
      )}
      {!isList && (kind === "map" || field.shape.isOpen) && (
        <NewKey
          isDeclared={isDeclared}
          onAdd={(name) => set({ ...(value as object | undefined), [name]: startValueOf(elementOf(field, name)) })}
        />
      )}
      {!isList && fields.length === 0 && kind === "object" && <span class="muted">This object has no properties.</span>}
    </div>
  );
}

/** The field that an element or a property would have. */
function elementOf(field: Field, key: number | string): Field {
  const shape = typeof key === "number" ? field.shape.element(key) : field.shape.property(key);
  return { pointer: "", label: "", isRequired: true, shape };
}

function NewKey({ isDeclared, onAdd }: { isDeclared(name: string): boolean; onAdd(name: string): void }) {
  const name = useSignal("");
  const add = () => {
    if (name.value === "" || name.value === "__proto__" || isDeclared(name.value)) return;
    onAdd(name.value);
    name.value = "";
  };
  return (
    <span class="new-key">
      <input
        aria-label="Name of a new property"
        placeholder="new property"
        value={name.value}
        onInput={keepIn(name)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.metaKey && !event.ctrlKey) {
            event.preventDefault();
            add();
          }
        }}
      />
      <Button icon="plus" label="Add the property" onClick={add} />
    </span>
  );
}

/** A choice between forms of a value. The choice stays while the value fits several of them. */
function UnionControl({ field, depth }: { field: Field; depth: number }) {
  const [value, set] = useValue(field);
  const chosen = useSignal<number | undefined>(undefined);
  const choice = choiceOf(field, value, chosen.value);
  const labels = labelsOf(field);
  const [inner] = choice === -1 ? [] : fieldsIn(field, value, choice);
  const name = useId();
  const choose = (index: number) => {
    chosen.value = index;
    const [next] = fieldsIn(field, undefined, index);
    if (next !== undefined && choiceOf(field, value, index) !== index) set(startValueOf(next));
  };
  const label = `Form of ${visibleName(field.label)}`;
  return (
    <div class="union">
      {labels.length <= maxRadios ? (
        <div class="radios" role="radiogroup" aria-label={label}>
          {labels.map((one, index) => (
            <label key={one} class="check">
              <input type="radio" name={name} checked={index === choice} onChange={() => choose(index)} />
              {visibleName(one)}
            </label>
          ))}
        </div>
      ) : (
        <select
          aria-label={label}
          value={String(choice)}
          onChange={(event) => choose(Number(event.currentTarget.value))}
        >
          {choice === -1 && <option value="-1">choose…</option>}
          {labels.map((one, index) => (
            <option key={one} value={String(index)}>
              {visibleName(one)}
            </option>
          ))}
        </select>
      )}
      {inner !== undefined && inner.shape.kind !== "null" && inner.shape.kind !== "const" && (
        <Control field={inner} depth={depth} />
      )}
    </div>
  );
}
