export { decode, type OtherFrame, type WireFrame } from "./decode.ts";
export { encode } from "./encode.ts";
export { type FrameLimits, wireVersion } from "./wire-format.ts";
