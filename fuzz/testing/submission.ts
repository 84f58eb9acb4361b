import * as fc from "fast-check";
import { parseJobSubmitInput } from "../../job-provider/submission/parse-job-submit-input.ts";
import { validSubmission } from "../../job-provider/testing/valid-submission.ts";
import { expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { armed, characterOf, hostileText, hostileValue, oneWrong } from "./hostile-values.ts";

const nearlyPath = fc.string({ unit: characterOf("/ab. "), maxLength: 8 }).map((path) => `/${path}`);

const valid = validSubmission();
const constants = (object: object) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, fc.constant(value)]));

const provider = constants(valid.provider as object);
const revision = constants(valid.input?.revision as object);
const input = { revision: fc.record(revision), paths: fc.constant(valid.input?.paths) };
const configuration = {
  value: fc.constant(valid.configuration?.value),
  explicitPointers: fc.constant(valid.configuration?.explicitPointers),
};
const fields = {
  provider: fc.record(provider),
  input: fc.record(input),
  configuration: fc.record(configuration),
  submissionKey: fc.oneof(fc.constant("order-17/mesh"), fc.string({ minLength: 1, maxLength: 256 })),
};

const submissions = fc.oneof(
  { weight: 1, arbitrary: fc.record(fields) },
  {
    weight: 8,
    arbitrary: oneWrong(fields, {
      provider: oneWrong(provider),
      input: oneWrong(input, {
        revision: oneWrong(revision),
        paths: fc.array(fc.oneof(hostileText, nearlyPath), { maxLength: 4 }),
      }),
      configuration: oneWrong(configuration, {
        value: fc.oneof(fc.dictionary(fc.string(), hostileValue), fc.jsonValue()),
        explicitPointers: fc.array(
          fc.constantFrom("", "/cells", "/list/0/a~1b", "/list/1", "/none", "/~2", "x"),
          {
            maxLength: 3,
          },
        ),
      }),
      submissionKey: fc.oneof(
        hostileText,
        fc.constantFrom(256, 257).map((length) => "k".repeat(length)),
      ),
    }),
  },
  { weight: 1, arbitrary: hostileValue },
);

/** What a refusal names first, as far as the submission's own form goes. */
const places =
  /^\/(provider|input\/revision|input\/paths|input|configuration\/value|configuration\/explicitPointers|configuration|submissionKey)\b/;

/** Submissions to a job host. */
export const submission: FuzzTarget = {
  name: "job submissions",
  share: 2,
  leastOfThousand: {
    taken: 80,
    "the value": 10,
    provider: 30,
    input: 5,
    "input/revision": 12,
    "input/paths": 8,
    configuration: 5,
    "configuration/value": 5,
    "configuration/explicitPointers": 8,
    submissionKey: 15,
  },
  property: (reach) =>
    fc.property(submissions, (value) => {
      try {
        const taken = parseJobSubmitInput(armed(value));
        if (!Object.isFrozen(taken.input))
          throw new RangeError("a submission was taken that can still be changed");
        reach("taken");
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        expectNoCanary(error);
        reach(places.exec(error.message)?.[1] ?? "the value");
      }
    }),
};
