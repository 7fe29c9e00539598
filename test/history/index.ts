export { checkHistory } from "./check-history.ts";
export type { HistoryEvent } from "./events.ts";
export { promiseWithPatience } from "./promises.ts";
export { createMemoryRecorder, createRecorder, now, type Recorder, readHistory } from "./recorder.ts";
export { formatViolation, type Violation } from "./violation.ts";
