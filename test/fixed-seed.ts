import fc from "fast-check";

/**
 * Generated cases are the same in every run, so that a change is judged by what it changed. `FC_SEED=random` looks for
 * new ones, `FC_SEED=<number>` repeats a run.
 */
const wanted = process.env["FC_SEED"] ?? "20260510";
fc.configureGlobal({ seed: wanted === "random" ? Date.now() ^ (Math.random() * 0x7fffffff) : Number(wanted) });
