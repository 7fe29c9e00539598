// #region next
import { server } from "./server.ts";

const handle = (request: Request) => server.fetch(request, { basePath: "/api" });

export { handle as GET, handle as POST, handle as OPTIONS };
// #endregion next
