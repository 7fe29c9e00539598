import { afterAll, test } from "vitest";
import { startNATS } from "../services/nats.ts";
import { describeFaults } from "./suite.ts";

const service = await startNATS();
afterAll(() => service?.close());

if (service === undefined) test.skip("faults on nats: there is no nats-server");
else describeFaults("nats", service);
