import { vi } from "vitest";

// Runs before each test file. Without isolation, files would share what modules of the sources remember.
vi.resetModules();
