import { refuse } from "../canonical/pointer-text.ts";
import { type Member, readIdentity, readList, readRecord } from "../canonical/read-record.ts";
import { DECLARATION_LIMIT } from "./job-provider-descriptor.ts";
import type { JobFact, JobRequirement } from "./job-requirement.ts";

/** Owned requirements. @throws TypeError naming the field */
export function checkRequirements(list: Member): readonly JobRequirement[] {
  return readList(list, DECLARATION_LIMIT).map((member) => {
    const { condition } = readRecord(member, ["key", "condition"], ["value", "values"]);
    switch (condition.value) {
      case "equals": {
        const { key, value } = readRecord(member, ["key", "condition", "value"]);
        return { key: readIdentity(key), condition: "equals", value: readFact(value) };
      }
      case "at-least": {
        const { key, value } = readRecord(member, ["key", "condition", "value"]);
        const least = readFact(value);
        if (typeof least !== "number") return refuse(value.at, "expected a finite number");
        return { key: readIdentity(key), condition: "at-least", value: least };
      }
      case "one-of": {
        const { key, values } = readRecord(member, ["key", "condition", "values"]);
        const facts = readList(values, VALUE_LIMIT).map(readFact);
        if (facts.length === 0) return refuse(values.at, "expected at least one value");
        return { key: readIdentity(key), condition: "one-of", values: facts };
      }
      default:
        return refuse(condition.at, "expected equals, one-of or at-least");
    }
  });
}

/** Most values of a `one-of`: a manifest stays readable. */
const VALUE_LIMIT = 1024;

function readFact({ value, at }: Member): JobFact {
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) return value;
  if (typeof value === "string" && value.length <= 1024 && value.isWellFormed()) return value;
  return refuse(at, "expected a text of at most 1024 characters, a boolean or a finite number");
}
