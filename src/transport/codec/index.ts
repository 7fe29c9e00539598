export type { OtherFrame, WireFrame } from "./check-frame.ts";
export { decode } from "./decode.ts";
export { encode, type FrameLimits } from "./encode.ts";
export { wireVersion } from "./tags.ts";
