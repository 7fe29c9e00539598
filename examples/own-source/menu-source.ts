// #region source
import {
  defineOperation,
  type IOperationDefinition,
  type OperationSource,
  type SourceChange,
  Type,
} from "@alkdev/operations";

/** Dishes and their prices. */
export type Menu = Record<string, number>;

/** Every dish of a menu as an operation; `update` is what a file watcher or a web hook would call. */
export class MenuSource implements OperationSource {
  readonly name = "menu";
  #menu: Menu;
  readonly #listeners = new Set<(change: SourceChange) => void>();

  constructor(menu: Menu) {
    this.#menu = menu;
  }

  async load(): Promise<IOperationDefinition[]> {
    return Object.entries(this.#menu).map(([dish, price]) => toOperation(dish, price));
  }

  onChange(listener: (change: SourceChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  update(menu: Menu): void {
    const before = this.#menu;
    this.#menu = menu;
    const change: SourceChange = { added: [], changed: [], removed: [] };
    for (const [dish, price] of Object.entries(menu)) {
      if (!(dish in before)) change.added.push(toOperation(dish, price));
      else if (before[dish] !== price) change.changed.push(toOperation(dish, price));
    }
    change.removed = Object.keys(before).flatMap((dish) => (dish in menu ? [] : [`order.${dish}`]));
    for (const listener of this.#listeners) listener(change);
  }
}

function toOperation(dish: string, price: number): IOperationDefinition {
  return defineOperation({
    namespace: "order",
    name: dish,
    type: "mutation",
    description: `Orders ${dish}`,
    inputSchema: Type.Object({ guests: Type.Integer({ minimum: 1 }) }),
    outputSchema: Type.Object({ total: Type.Number() }),
    handler: ({ guests }) => ({ total: guests * price }),
  });
}
// #endregion source
