import { refuse } from "../../canonical/pointer-text.ts";
import { readRecord } from "../../canonical/read-record.ts";
import type { JobArtifactDeclaration, JobArtifactPublication } from "../../provider/job-artifact.ts";
import { readText } from "./read-text.ts";

/** Longest path of a workspace that is published, in UTF-16 code units: as long as an input's. */
const pathLimit = 4096;

/** An owned publication, with the declaration that it fits. @throws TypeError naming the field */
export function checkPublication(
  publication: unknown,
  declarations: readonly JobArtifactDeclaration[],
): { readonly publication: JobArtifactPublication; readonly declaration: JobArtifactDeclaration } {
  const member = { value: publication, at: ["artifact"] };
  const { role, path, mediaType } = readRecord(member, ["role", "path", "mediaType"]);
  const declaration = declarations.find((each) => each.role === role.value);
  if (declaration === undefined) return refuse(role.at, "a role that the provider does not declare");
  const declared = declaration.mediaTypes.find((each) => each === mediaType.value);
  if (declared === undefined)
    return refuse(mediaType.at, `expected one of ${declaration.mediaTypes.join(", ")}`);
  const owned = { role: declaration.role, path: readText(path, 1, pathLimit), mediaType: declared };
  return { publication: owned, declaration };
}
