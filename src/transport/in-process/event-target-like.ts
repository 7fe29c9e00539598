/** What carries call events: any object with the three methods of an `EventTarget`, such as a bridge to another realm. */
export interface EventTargetLike {
  /** Calls `listener` with every event of this type. */
  addEventListener(type: string, listener: (event: Event) => void): void;
  /** Ends what `addEventListener` began. */
  removeEventListener(type: string, listener: (event: Event) => void): void;
  /** Delivers an event to the listeners of its type. What it returns is ignored. */
  dispatchEvent(event: Event): unknown;
}

const methods = ["addEventListener", "removeEventListener", "dispatchEvent"] as const;

/** Whether a value has the three methods of an event target. */
export function isEventTargetLike(value: unknown): value is EventTargetLike {
  if (typeof value !== "object" || value === null) return false;
  return methods.every((method) => typeof (value as Partial<EventTargetLike>)[method] === "function");
}
