import type { Identity } from "@alkdev/operations";

/** Who may do what the tour does. */
export const ada: Identity = { id: "ada", scopes: ["task:write", "team:write"] };
/** Who may look around. */
export const guest: Identity = { id: "guest", scopes: [] };
