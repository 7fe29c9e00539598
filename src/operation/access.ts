/** What a caller must be allowed to do. */
export interface AccessControl {
  /** All of these are demanded; `[]` demands nothing. */
  requiredScopes: string[];
  /** One of these is demanded; absent demands nothing, `[]` denies everybody. */
  requiredScopesAny?: string[];
  /** With `resourceAction`: the kind of resource that the caller must have been granted. */
  resourceType?: string;
  resourceAction?: string;
  /** JSON pointer into the validated input that yields the resource's id, or an array of ids. */
  resourceId?: string;
  /** Name of a function in the registry's `customAuth`; only `true` from it allows. */
  customAuth?: string;
}

/** Who calls. */
export interface Identity {
  id: string;
  scopes: string[];
  /** From `type:id` (or `type:*`) to the actions granted on it. */
  resources?: Record<string, string[]>;
}

/** What `authenticate` returns: who calls, and until when that is known. */
export interface AuthenticatedIdentity extends Identity {
  /**
   * When the credential expires, in milliseconds since the epoch. Subscriptions end with `ACCESS_DENIED` then, WebSocket
   * connections are closed, and calls that arrive later are refused. @default never
   */
  expiresAt?: number;
}
