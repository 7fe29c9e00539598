/**
 * What a caller passes on with a request, and the handler reads under the same name in its context. A field of this
 * interface and its row in {@link requestFields} are all that a new field needs: options of calls, frames, forwarded calls
 * and defaults of clients follow from them.
 */
export interface RequestFields {
  /** Passed to the handler's context and to nested calls. */
  metadata?: Readonly<Record<string, unknown>> | undefined;
  /**
   * For subscriptions: id of the last event that the consumer received from an earlier subscription, for handlers that can
   * resume. There is no replay buffer.
   */
  lastEventId?: string | undefined;
}

/** How one field of a request is checked and passed on. */
export interface RequestField {
  /** The kind of its values. */
  readonly kind: "object" | "string";
  /** Maximum number of characters of a string. @default none */
  readonly maxLength?: number;
  /** Whether calls that the handler makes have the same value, unless they set their own. */
  readonly isInherited: boolean;
}

/** Every field of {@link RequestFields}. */
export const requestFields: Readonly<Record<keyof RequestFields, RequestField>> = {
  metadata: { kind: "object", isInherited: true },
  lastEventId: { kind: "string", maxLength: 256, isInherited: false },
};

/** Copies the fields that a source has to a target. */
export function writeRequestFields(target: RequestFields, source: RequestFields): void {
  for (const name in requestFields) {
    const value = source[name as keyof RequestFields];
    if (value !== undefined) (target as Record<string, unknown>)[name] = value;
  }
}
