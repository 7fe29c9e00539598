import { createRegistry, defineNamespace, type OperationRegistry } from "@alkdev/operations";
import { Type } from "typebox";

const Task = Type.Object({ id: Type.String(), title: Type.String(), tags: Type.Array(Type.String()) });

/** Operations of every kind, which the tools of others read and call. */
export function createServedRegistry(): OperationRegistry {
  const define = defineNamespace("task");
  const create = define({
    name: "create",
    type: "mutation",
    title: "Create a task",
    inputSchema: Type.Object({ title: Type.String(), tags: Type.Array(Type.String(), { default: ["new"] }) }),
    outputSchema: Task,
    errors: { TITLE_TAKEN: { schema: Type.Object({ title: Type.String() }), httpStatus: 409 } },
    handler: ({ title, tags }, { errors }) => {
      if (title === "taken") throw errors.TITLE_TAKEN({ title });
      return { id: "1", title, tags };
    },
  });
  const list = define({
    name: "list all",
    type: "query",
    description: "Lists tasks.",
    inputSchema: Type.Object({
      tags: Type.Optional(Type.Array(Type.String())),
      limit: Type.Integer({ default: 10 }),
      filter: Type.Optional(Type.Object({ open: Type.Boolean() })),
    }),
    outputSchema: Type.Array(Task),
    handler: ({ tags = [], limit, filter }) => [{ id: `${limit} ${filter?.open}`, title: "first", tags }],
  });
  const tree = define({
    name: "tree",
    type: "query",
    inputSchema: Type.Object({ depth: Type.Integer() }),
    outputSchema: Type.Cyclic({ Node: Type.Object({ of: Type.Array(Type.Ref("Node")) }) }, "Node"),
    handler: ({ depth }) => {
      let node: { of: never[] } = { of: [] };
      for (let level = 0; level < depth; level++) node = { of: [node as never] };
      return node;
    },
  });
  const icon = define({
    name: "icon",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: () => new Uint8Array([1, 2, 3]),
  });
  const changes = define({
    name: "changes",
    type: "subscription",
    inputSchema: Type.Object({ count: Type.Integer() }),
    outputSchema: Type.Integer(),
    async *handler({ count }) {
      for (let index = 0; index < count; index++) yield index;
    },
  });
  return createRegistry({ operations: [create, list, tree, icon, changes] });
}
