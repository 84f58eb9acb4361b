import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { jobsCapability, type PluginFactory, signalsCapability } from "../../capability/index.ts";
import type { JobHostOptions } from "../../job-provider/host/index.ts";
import { CommandFailure } from "../app-command/command-failure.ts";
import { describeError } from "../app-command/describe-error.ts";
import { checkComposition } from "../composition.ts";
import { type ReadComposition, readComposition } from "../composition-file.ts";
import { HostError } from "../host-error.ts";

/** Which job host a command is about. */
export interface JobHostFiles {
  /** The path of a composition file, as `readComposition` takes it. */
  readonly composition: string;
  /** The path of a module that exports `plugins`, `instance` and `jobHostOptions`. */
  readonly jobs: string;
}

/** What `jobHostOptions` gives: all of `createJobHost` but the clients, which come from the composition. */
export type OwnJobHostOptions = Omit<JobHostOptions, "jobs" | "signals">;

/** A job host that could be started. */
export interface LoadedJobHost {
  readonly composition: ReadComposition;
  readonly options: OwnJobHostOptions;
  /** The key of the Instance in whose name the job host calls. */
  readonly instance: string;
  /** Its requirement of `lenso.jobs@1`; and that of `lenso.jobs-signals@1`, when that is bound. */
  readonly jobs: string;
  readonly signals: string | undefined;
}

/**
 * Reads the composition and imports the module. Starts nothing.
 *
 * @throws CommandFailure `file-not-found`, `config-failed` or `config-invalid`, all with exit code 3
 */
export async function loadJobHost(
  files: JobHostFiles,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<LoadedJobHost> {
  await expectFile(files.composition, "--composition");
  await expectFile(files.jobs, "--jobs");
  const failed = (error: unknown): never => {
    const what = describeError(error, environment);
    throw new CommandFailure(3, "config-failed", `the module of --jobs: ${what}`);
  };
  const exported = (await import(pathToFileURL(resolve(files.jobs)).href).catch(failed)) as Exported;
  const { plugins, instance, jobHostOptions } = checkExports(exported);
  const composition = await composed(resolve(files.composition), plugins);
  const { jobs, signals } = requirementsOf(composition, instance);
  const options = await Promise.resolve().then(jobHostOptions).catch(failed);
  if (!isRecord(options)) throw invalid("jobHostOptions: expected a function that gives an object");
  return { composition, options, instance, jobs, signals };
}

type Exported = Readonly<Record<string, unknown>>;

interface JobHostModule {
  readonly plugins: Readonly<Record<string, PluginFactory>>;
  readonly instance: string;
  readonly jobHostOptions: () => OwnJobHostOptions | Promise<OwnJobHostOptions>;
}

function checkExports({ plugins, instance, jobHostOptions }: Exported): JobHostModule {
  if (!isRecord(plugins)) throw invalid("plugins: expected plugins by the names that the composition uses");
  if (typeof instance !== "string")
    throw invalid("instance: expected the key of the Instance in whose name the job host calls");
  if (typeof jobHostOptions !== "function") throw invalid("jobHostOptions: expected a function");
  return { plugins, instance, jobHostOptions: jobHostOptions as JobHostModule["jobHostOptions"] };
}

async function composed(path: string, plugins: JobHostModule["plugins"]): Promise<ReadComposition> {
  try {
    const composition = await readComposition(path, { plugins });
    checkComposition(composition);
    return composition;
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    // What a parser says quotes the text that it cannot read.
    const problems = error.problems.map(({ message }) =>
      message.startsWith("not JSON") ? "not JSON" : message,
    );
    throw new CommandFailure(3, "config-invalid", `the composition: ${problems.join("; ")}`);
  }
}

function requirementsOf(
  { instances, bindings }: ReadComposition,
  key: string,
): Pick<LoadedJobHost, "jobs" | "signals"> {
  const found = instances.find((each) => each.key === key);
  if (found === undefined) throw invalid("instance: the composition has no Instance of this key");
  const idOf = (capability: string): string | undefined =>
    found.plugin.requirements.find(
      (each) =>
        each.capability === capability &&
        bindings.some(({ consumer, requirement }) => consumer === key && requirement === each.id),
    )?.id;
  const jobs = idOf(jobsCapability.descriptor.capability_id);
  if (jobs === undefined) throw invalid("instance: expected one that is bound to a provider of lenso.jobs@1");
  return { jobs, signals: idOf(signalsCapability.descriptor.capability_id) };
}

async function expectFile(path: string, option: string): Promise<void> {
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) throw new CommandFailure(3, "file-not-found", `${option}: there is no such file`);
}

function isRecord(value: unknown): value is Readonly<Record<string, never>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(message: string): CommandFailure {
  return new CommandFailure(3, "config-invalid", `the module of --jobs: ${message}`);
}
