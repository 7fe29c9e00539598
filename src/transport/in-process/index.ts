export { createEventTargetTransport, EventTargetTransport } from "./event-target.ts";
export { createInProcessTransport, InProcessBus, InProcessTransport } from "./in-process.ts";
export { LocalRequest } from "./local-request.ts";
