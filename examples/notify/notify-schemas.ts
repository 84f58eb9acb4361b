import { toStandardJsonSchema } from "@valibot/to-json-schema";
import {
  defineConfiguration,
  type JobConfigurationDefinition,
  type JobSchema,
} from "lenso-jobs-plugin/job-provider";
import * as v from "valibot";

/** What is said of a notice. Its text is the job's input. */
export interface NotifySettings {
  /** 1..200 characters. Has to be supplied. */
  readonly subject: string;
  /** How long the receiver has for an answer, in ms, 1..60 000. Too short leaves more outcomes unknown. Default 10 000. */
  readonly timeoutMs: number;
}

/** What the receiver gave for the notice. */
export interface NotifyResult {
  readonly receipt: string;
}

/** What the receiver says of a job's notice now. */
export interface NoticeFound {
  readonly receipt: string | null;
}

const settings: JobSchema<NotifySettings> = toStandardJsonSchema(
  v.strictObject({
    subject: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    timeoutMs: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(60_000)),
  }),
);

/** The provider's configuration. */
export const notifyConfiguration: JobConfigurationDefinition<typeof settings> = defineConfiguration({
  id: "examples/notify-configuration",
  version: "1",
  schema: settings,
  defaults: { timeoutMs: 10_000 },
});

const receipt = v.pipe(v.string(), v.minLength(1), v.maxLength(200));

/** Validates a {@link NotifyResult}: what a person says who completes a job by hand, too. */
export const notifyResult: JobSchema<NotifyResult> = toStandardJsonSchema(v.strictObject({ receipt }));

/** Validates a {@link NoticeFound}. */
export const noticeFound: JobSchema<NoticeFound> = toStandardJsonSchema(
  v.strictObject({ receipt: v.nullable(receipt) }),
);

/** A query that needs to be told nothing. */
export const nothing: JobSchema<Record<never, never>> = toStandardJsonSchema(v.strictObject({}));
