import { refuse } from "../canonical/pointer-text.ts";
import { type Member, readIdentity, readInteger, readList, readRecord } from "../canonical/read-record.ts";
import type { JobArtifactDeclaration } from "./job-artifact.ts";
import { DECLARATION_LIMIT } from "./job-provider-descriptor.ts";

/** Owned artifact declarations with unique roles. @throws TypeError naming the field */
export function checkArtifacts(list: Member): readonly JobArtifactDeclaration[] {
  const roles = new Set<string>();
  return readList(list, DECLARATION_LIMIT).map((member) => {
    const fields = readRecord(member, ["role", "mediaTypes", "minimum", "maximum"]);
    const role = readIdentity(fields.role);
    if (roles.has(role)) return refuse(fields.role.at, "the role is declared twice");
    roles.add(role);
    const minimum = readInteger(fields.minimum, 0, Number.MAX_SAFE_INTEGER);
    const maximum = readInteger(fields.maximum, Math.max(1, minimum), Number.MAX_SAFE_INTEGER);
    return { role, mediaTypes: readMediaTypes(fields.mediaTypes), minimum, maximum };
  });
}

/** Most media types of a role. */
const MEDIA_TYPE_LIMIT = 64;

/** Two tokens of RFC 9110, each as long as RFC 6838 allows. Parameters belong to a file, not to what is promised. */
const mediaType = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,127}\/[!#$%&'*+.^_`|~0-9A-Za-z-]{1,127}$/;

function readMediaTypes(list: Member): readonly string[] {
  const types = new Set<string>();
  for (const { value, at } of readList(list, MEDIA_TYPE_LIMIT)) {
    if (typeof value !== "string" || !mediaType.test(value))
      return refuse(at, "expected type/subtype without parameters");
    if (types.has(value)) return refuse(at, "the media type stands twice");
    types.add(value);
  }
  return types.size > 0 ? [...types] : refuse(list.at, `expected 1..${MEDIA_TYPE_LIMIT} media types`);
}
