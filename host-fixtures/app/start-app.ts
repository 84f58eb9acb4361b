import type { AppPlugin, SetupContext } from "../../capability/index.ts";
import { HostError } from "../host-error.ts";
import { checkPlugins } from "./check-plugins.ts";

export interface StartAppOptions {
  /** Every plugin of the application, each once; what one requires has to be among them. */
  readonly plugins: readonly AppPlugin[];
}

/** A running application. */
export interface RunningApp {
  /** The value of a plugin. @throws HostError `missing_plugin` for one that is not part of it, `app_stopped` once it stops. */
  get<Value>(plugin: AppPlugin<Value>): Value;
  /**
   * Runs every finaliser, the last one registered first, one after the other. Every call gets the same run. Rejects with what a
   * finaliser threw, or with an AggregateError of several; the others have run nevertheless.
   */
  stop(): Promise<void>;
}

/**
 * Sets the plugins up, one after the other, each after those that it requires.
 *
 * @throws HostError `invalid_plugin`, `duplicate_plugin`, `missing_plugin` or `dependency_cycle`; nothing was set up.
 * @throws whatever a set-up threw, after everything before it has been cleaned up in reverse; with failures of the clean-up it is the
 * first of an AggregateError.
 * @example
 * const app = await startApp({ plugins: [database, reports] });
 * await app.get(reports).submit({ reportId: "r1" });
 * await app.stop();
 */
export async function startApp({ plugins }: StartAppOptions): Promise<RunningApp> {
  const order = checkPlugins(plugins);
  const values = new Map<AppPlugin, unknown>();
  const finalisers: Finaliser[] = [];
  for (const { plugin, requires } of order) {
    const { context, end } = contextOf(plugin, requires, values, finalisers);
    try {
      values.set(plugin, await plugin.setup(context));
    } catch (error) {
      end();
      throw together([error, ...(await runAll(finalisers))]);
    }
    end();
  }

  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    const failures = await runAll(finalisers);
    if (failures.length > 0) throw together(failures);
  };
  return Object.freeze<RunningApp>({
    get<Value>(plugin: AppPlugin<Value>): Value {
      if (!values.has(plugin)) {
        throw new HostError({
          code: "missing_plugin",
          message: `"${plugin.id}" is not part of this application`,
        });
      }
      if (stopped) {
        throw new HostError({ code: "app_stopped", message: `"${plugin.id}" was asked for after the stop` });
      }
      return values.get(plugin) as Value;
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
  });
}

type Finaliser = () => void | Promise<void>;

/** What one set-up gets. Once it has ended it can register nothing more: nobody would know what that belongs to. */
function contextOf(
  { id }: AppPlugin,
  requires: readonly AppPlugin[],
  values: ReadonlyMap<AppPlugin, unknown>,
  finalisers: Finaliser[],
): { readonly context: SetupContext; readonly end: () => void } {
  let ended = false;
  const context: SetupContext = {
    get<Value>(required: AppPlugin<Value>): Value {
      if (requires.includes(required)) return values.get(required) as Value;
      throw new HostError({
        code: "undeclared_requirement",
        message: `"${id}" does not list "${required.id}" in its requires`,
      });
    },
    onCleanup(finaliser) {
      if (typeof finaliser !== "function")
        throw new TypeError(`onCleanup of "${id}": expected a function, got ${typeof finaliser}`);
      if (ended) {
        throw new HostError({
          code: "setup_ended",
          message: `"${id}" registers a clean-up after its set-up has ended`,
        });
      }
      finalisers.push(finaliser);
    },
  };
  const end = (): void => {
    ended = true;
  };
  return { context: Object.freeze(context), end };
}

/** Runs every finaliser in reverse and tells what they threw. */
async function runAll(finalisers: readonly Finaliser[]): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const finaliser of finalisers.toReversed()) {
    try {
      await finaliser();
    } catch (error) {
      failures.push(error);
    }
  }
  return failures;
}

/** One failure as itself, several as one error with the first in front. */
function together(failures: readonly unknown[]): unknown {
  return failures.length === 1
    ? failures[0]
    : new AggregateError(failures, `${failures.length} failures, the first of them the cause`);
}
