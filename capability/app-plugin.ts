/** A plugin of an application: what it needs, and how its value is made when the application starts. */
export interface AppPlugin<Value = unknown> {
  /** Unique in the application. */
  readonly id: string;
  /** The plugins that are set up before this one, and that it may `get`. */
  readonly requires: readonly AppPlugin[];
  setup(context: SetupContext): Value | Promise<Value>;
}

/** What a plugin gets while it is set up. */
export interface SetupContext {
  /** The value of a plugin that this one requires. */
  get<Value>(plugin: AppPlugin<Value>): Value;
  /** Runs when the application stops, or when its start is rolled back; the last one registered first. */
  onCleanup(finaliser: () => void | Promise<void>): void;
}
