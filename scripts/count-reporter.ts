import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * Ends a run with `N passed, N failed` on a line of its own. Files that fail to load and unhandled errors count as
 * failed. Tests that were skipped are listed before it, because they count as neither.
 */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0;
    let failed = unhandled.length;
    for (const module of modules) {
      let failedHere = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed++;
        else if (state === "skipped") console.log(`skipped: ${module.relativeModuleId} > ${test.fullName}`);
        else failedHere++;
      }
      failed += failedHere === 0 && module.state() === "failed" ? 1 : failedHere;
    }
    console.log(`\n${passed} passed, ${failed} failed`);
  }
}
