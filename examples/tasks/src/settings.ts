import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { TaskAuthModule } from "./identity.ts";

/** The one place below the commands that reads the environment, each variable when it is first needed. */
export const settings = {
  /** Secret. */
  databaseUrl: (): string => required("DATABASE_URL"),
  /** Producers and workers of one queue have to say the same name. */
  queueName: (): string => process.env["TASK_QUEUE_NAME"] || "reports",
  /** Secret. */
  session: (): string => required("TASK_SESSION"),
  /** The module that proves sessions: a package's name, or a path from the example's folder. */
  async authSource(): Promise<TaskAuthModule> {
    const name = required("TASK_AUTH_SOURCE_MODULE");
    const found = (await import(pathToFileURL(Bun.resolveSync(name, root)).href)) as Partial<TaskAuthModule>;
    if (typeof found.connectTaskAuth === "function") return found as TaskAuthModule;
    throw new Error(`TASK_AUTH_SOURCE_MODULE: ${name} exports no function connectTaskAuth`);
  },
} as const;

const root = join(import.meta.dir, "..");

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: see "What it reads" in README.md`);
  return value;
}
