export { createEventTargetTransport, EventTargetTransport } from "./event-target.ts";
export { createInProcessTransport, InProcessBus, InProcessTransport } from "./in-process.ts";
export { LocalRequest, toResponded } from "./local-request.ts";
