import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Folders whose files take longest, slowest first. Vitest itself knows durations only after a first run. */
const slow = [
  "test/faults/",
  "test/stories/start",
  "test/package/installed",
  "test/package/programs",
  "test/package/command/",
  "test/stories/",
  "src/schema/",
  "src/contract/",
];

/** Starts slow files first, so that none of them runs alone at the end. */
export default class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = slow.findIndex((folder) => moduleId.includes(`/${folder}`));
      return index === -1 ? slow.length : index;
    };
    return (await super.sort(files)).sort((left, right) => rank(left) - rank(right));
  }
}
