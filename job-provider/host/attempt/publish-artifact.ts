import { newRecordId } from "../../../tasks/jobs/new-record-id.ts";
import { refuse } from "../../canonical/pointer-text.ts";
import type { JobAttemptServices } from "../../provider/attempt-services.ts";
import type { JobArtifactDeclaration, JobPublishedArtifact } from "../../provider/job-artifact.ts";
import type { AttemptDeps } from "./attempt-deps.ts";
import { checkPublication } from "./check-publication.ts";
import { openSource } from "./open-source.ts";
import { admitArtifact } from "./records/admit-artifact.ts";
import { tellTrouble } from "./tell-trouble.ts";
import { untilAnswered } from "./until-answered.ts";

/** Stores the bytes first, then records the artifact: a crash between the two leaves bytes that nobody names. */
export function createArtifactPublisher(
  deps: AttemptDeps,
  declarations: readonly JobArtifactDeclaration[],
): JobAttemptServices["publishArtifact"] {
  const { fence, gate, records, artifacts, trouble, inOrder } = deps;
  return (given) =>
    gate.run(async () => {
      const { publication, declaration } = checkPublication(given, declarations);
      const { length, digest, open } = await openSource(deps, publication.path, ["artifact", "path"]);
      await tellTrouble(deps, "artifacts", () =>
        artifacts.put({ length, digest }, open, { signal: gate.signal }),
      );
      const artifact: JobPublishedArtifact = { id: newRecordId(), ...publication, length, digest };
      const admission = await inOrder(() =>
        untilAnswered(gate, trouble, () => admitArtifact(records, fence, artifact, declaration.maximum)),
      );
      if (admission === "lost") return gate.lose();
      if (admission === "full")
        return refuse(["artifact", "role"], `the role has its maximum of ${declaration.maximum} already`);
      return Object.freeze(artifact) as JobPublishedArtifact<never>;
    });
}
