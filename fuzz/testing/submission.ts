import * as fc from "fast-check";
import { parseJobSubmitInput } from "../../job-provider/submission/parse-job-submit-input.ts";
import { validSubmission } from "../../job-provider/testing/valid-submission.ts";
import { expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { almost, armed, hostileText, hostileValue } from "./hostile-values.ts";

const valid = validSubmission();
const constants = (object: object) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, fc.constant(value)]));

const submissions = fc.oneof(
  {
    weight: 6,
    arbitrary: almost({
      provider: almost(constants(valid.provider as object)),
      input: almost({
        revision: almost(constants(valid.input?.revision as object)),
        paths: fc.oneof(fc.constant(valid.input?.paths), fc.array(hostileText, { maxLength: 4 })),
      }),
      configuration: almost({
        value: fc.oneof(fc.constant(valid.configuration?.value), hostileValue),
        explicitPointers: fc.oneof(fc.constant([]), fc.array(hostileText, { maxLength: 3 })),
      }),
      submissionKey: fc.constant("order-17/mesh"),
    }),
  },
  { weight: 1, arbitrary: hostileValue },
);

/** Submissions to a job host. */
export const submission: FuzzTarget = {
  name: "job submissions",
  share: 2,
  property: () =>
    fc.property(submissions, (value) => {
      try {
        const taken = parseJobSubmitInput(armed(value));
        if (!Object.isFrozen(taken.input))
          throw new RangeError("a submission was taken that can still be changed");
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        expectNoCanary(error);
      }
    }),
};
