import type { JSONObject } from "../../internal/objects.ts";
import { componentPrefix, restoreComponent, sourceKeyword, splitComponent } from "../../schema/index.ts";
import { toPublicSchema } from "../public-schema.ts";

/** A reference to a schema of the document. */
export interface ComponentReference {
  $ref: string;
}

/** Maximum length of the name of a schema. */
const maxNameLength = 120;

/** Matches the JSON of every schema that other programs cannot read as it is. Most schemas are written unchanged. */
const mayChange =
  /"(?:\$(?:ref|id|anchor|schema|dynamicRef|dynamicAnchor|recursiveRef)|additionalItems)"|"items":\[|"type":(?!"(?:string|number|integer|boolean|object|array|null)")/;

/**
 * The names of one OpenAPI document, and its schemas. Each schema is written once, even if several operations have it, and its references are
 * pointers into the document.
 *
 * A schema that other programs cannot read as it is, such as one with an `$id`, is written differently. Its component
 * then also contains the JSON of the original as `x-alkdev-source`, from which importers restore it.
 */
export class Components {
  readonly schemas: Record<string, JSONObject> = {};
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  /** The next number to append to a name that is in use. */
  readonly #counts = new Map<string, number>();

  /** Adds a schema and returns the reference to it. Throws for a schema that is not JSON. */
  add(schema: unknown, wantedName: string): ComponentReference {
    const source = JSON.stringify(schema);
    let name = this.#names.get(source);
    if (name === undefined) {
      name = this.#freeName(wantedName);
      this.#names.set(source, name);
      if (mayChange.test(source)) this.#write(source, name);
      else this.schemas[name] = schema as JSONObject;
    }
    return { $ref: componentPrefix + name };
  }

  /** Writes a schema as other programs read it. */
  #write(source: string, name: string): void {
    const component = toPublicSchema(JSON.parse(source), `/components/schemas/${name}`);
    const parts = splitComponent(name, component, (definition) => this.#freeName(`${name}.${definition}`));
    Object.assign(this.schemas, parts);
    if (JSON.stringify(restoreComponent(parts, name)) === source) return;
    this.schemas[name] = { ...parts[name], [sourceKeyword]: source };
  }

  /** Returns the id of an operation in the document: unique, and without characters that URLs cannot contain. */
  takeOperationId(id: string): string {
    return this.#take("operation", id.replaceAll(/[^A-Za-z0-9._~:/@!$&'()*+,;=-]/g, "_"));
  }

  #freeName(wanted: string): string {
    return this.#take("schema", wanted.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, maxNameLength));
  }

  /** Returns a name that is unique among the names of its kind. */
  #take(kind: "schema" | "operation", base: string): string {
    let name = base;
    while (this.#taken.has(`${kind} ${name}`)) {
      const count = this.#counts.get(`${kind} ${base}`) ?? 2;
      this.#counts.set(`${kind} ${base}`, count + 1);
      name = `${base}_${count}`;
    }
    this.#taken.add(`${kind} ${name}`);
    return name;
  }
}
