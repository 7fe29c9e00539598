export type { Channel } from "./channel.ts";
export type { Link } from "./link.ts";
export { LinkHub } from "./link-hub.ts";
export { toLinkLimits } from "./options.ts";
