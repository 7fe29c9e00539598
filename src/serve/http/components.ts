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
const mayChange = new RegExp(
  [
    '"(?:\\$(?:ref|id|anchor|schema|dynamicRef|dynamicAnchor|recursiveRef)|additionalItems|nullable)"',
    '"x-alkdev-|"items":\\[|"exclusive(?:Min|Max)imum":[tf]',
    '"type":(?!"(?:string|number|integer|boolean|object|array|null)")',
  ].join("|"),
);

/** Keywords whose values are not schemas. Tools resolve every `$ref` in them as well. */
const annotation = /^(?:x-|examples?$|default$)/;

/** Removes what tools of OpenAPI 3.1 refuse: `nullable`, which is part of the type, and references in annotations. */
function adapt(schema: JSONObject): void {
  for (const [keyword, value] of Object.entries(schema)) {
    const isRefused = annotation.test(keyword) && JSON.stringify(value).includes('"$ref":');
    if (isRefused || keyword === "nullable") delete schema[keyword];
  }
}

/** Names that differ from each other. */
export class UniqueNames {
  /** How often a name was wanted. */
  readonly #counts = new Map<string, number>();

  /** Returns the wanted name, or one with a number if it was returned before. */
  take(wanted: string): string {
    const count = (this.#counts.get(wanted) ?? 0) + 1;
    this.#counts.set(wanted, count);
    return count === 1 ? wanted : this.take(`${wanted}_${count}`);
  }
}

/**
 * The schemas of one OpenAPI document. Each schema is written once, even if several operations have it, and its references
 * are pointers into the document.
 *
 * A schema that other programs cannot read as it is, such as one with an `$id`, is written differently. Its component
 * then also contains the JSON of the original as `x-alkdev-source`, from which importers restore it.
 */
export class Components {
  readonly schemas: Record<string, JSONObject> = {};
  /** Names by the JSON of the schema. */
  readonly #names = new Map<string, string>();
  readonly #taken = new UniqueNames();

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
    const component = toPublicSchema(JSON.parse(source), `/components/schemas/${name}`, adapt);
    // Importers would restore the schema from an annotation of the operation.
    for (const keyword of Object.keys(component)) if (keyword.startsWith("x-alkdev-")) delete component[keyword];
    const parts = splitComponent(name, component, (definition) => this.#freeName(`${name}.${definition}`));
    Object.assign(this.schemas, parts);
    if (JSON.stringify(restoreComponent(parts, name)) === source) return;
    this.schemas[name] = { ...parts[name], [sourceKeyword]: source };
  }

  #freeName(wanted: string): string {
    return this.#taken.take(wanted.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, maxNameLength));
  }
}
