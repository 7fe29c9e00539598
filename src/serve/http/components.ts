import { isObject, type JSONObject } from "../../internal/objects.ts";
import { relocateSchema } from "../../schema/index.ts";
import { toPublicSchema } from "../public-schema.ts";

/** A reference to a schema of the document. */
export interface ComponentReference {
  $ref: string;
}

/** Maximum length of the name of a component. */
const maxNameLength = 120;

/** Matches the JSON of every schema that other programs cannot read as it is. Most schemas are written unchanged. */
const mayChange =
  /"(?:\$(?:ref|id|anchor|schema|dynamicRef|dynamicAnchor|recursiveRef)|additionalItems)"|"items":\[|"type":(?!"(?:string|number|integer|boolean|object|array|null)")/;

/**
 * The schemas of one OpenAPI document. Each is written once, even if several operations have it, and its references are
 * pointers into the document.
 *
 * A schema that other programs cannot read as it is, such as one with an `$id`, is written differently. Its component
 * then also contains the JSON of the original as `x-alkdev-source`, from which importers restore it.
 */
export class Components {
  readonly schemas: Record<string, JSONObject> = {};
  readonly #names = new Map<string, string>();
  /** The next number to append to a name that is in use. */
  readonly #counts = new Map<string, number>();

  /** Adds a schema and returns the reference to it. Throws for a schema that is not JSON. */
  add(schema: unknown, wantedName: string): ComponentReference {
    const source = JSON.stringify(schema);
    let name = this.#names.get(source);
    if (name === undefined) {
      name = this.#freeName(wantedName);
      this.#names.set(source, name);
      const isKept = !mayChange.test(source);
      this.schemas[name] = isKept ? (schema as JSONObject) : toComponent(source, `/components/schemas/${name}`);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #freeName(wanted: string): string {
    const base = wanted.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, maxNameLength);
    let name = base;
    while (Object.hasOwn(this.schemas, name)) {
      const count = this.#counts.get(base) ?? 2;
      this.#counts.set(base, count + 1);
      name = `${base}_${count}`;
    }
    return name;
  }
}

function toComponent(source: string, location: string): JSONObject {
  const original: unknown = JSON.parse(source);
  const component = toPublicSchema(original, location);
  const restored = JSON.stringify(relocateSchema(component, `#${location}`, "#"));
  return restored === source || !isObject(original) ? component : { ...component, "x-alkdev-source": source };
}
