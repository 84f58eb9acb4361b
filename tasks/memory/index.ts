export { createMemoryTasks, type MemoryTasks } from "./create-memory-tasks.ts";
