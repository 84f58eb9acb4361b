import { describeTaskProviderConformance } from "../conformance/index.ts";
import { migratedDatabase, openTestQueue } from "./testing/open-test-queue.ts";

const { url } = await migratedDatabase();

describeTaskProviderConformance({
  name: "postgres",
  open: () => openTestQueue(url),
  openWithLongLeases: () => openTestQueue(url, 600),
});
