import type { JsonValue } from "../../../capability/index.ts";
import { ownJson } from "../../canonical/own-json.ts";
import { refuse } from "../../canonical/pointer-text.ts";
import type { JobSchema } from "../../configuration/job-schema.ts";
import { validateValue } from "../../configuration/validate-value.ts";
import type { JobRevisionFile } from "../../ports/job-revision-store.ts";
import type { JobCheckpointService } from "../../provider/attempt-services.ts";
import type { JobCheckpointRecovery } from "../../provider/job-recovery.ts";
import { configurationLimits } from "../../submission/read-configuration.ts";
import type { AttemptDeps } from "./attempt-deps.ts";
import { checkCheckpoint } from "./check-checkpoint.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { openSource } from "./open-source.ts";
import { admitCheckpoint } from "./records/admit-checkpoint.ts";
import type { AdmittedCheckpoint } from "./records/read-checkpoints.ts";
import { tellTrouble } from "./tell-trouble.ts";
import { untilAnswered } from "./until-answered.ts";

/** Seals the files first, then records the checkpoint: until then the one before it is the newest. */
export function createCheckpointPublisher(
  deps: AttemptDeps,
  recovery: JobCheckpointRecovery<JobSchema>,
  resumedFrom: AdmittedCheckpoint | undefined,
): JobCheckpointService["publishCheckpoint"] {
  const { fence, gate, records, revisions, trouble, inOrder } = deps;
  const one = oneAtATime(); // each one's parent is the one before
  const { format, formatVersion, metadataSchema } = recovery;
  let newest: Pick<AdmittedCheckpoint, "ordinal" | "revision"> | undefined = resumedFrom;
  return (given) =>
    gate.run(() =>
      one(async () => {
        gate.checkHeld();
        const { paths, metadata } = checkCheckpoint(given, newest?.revision);
        const owned = await validMetadata(metadataSchema, metadata);
        const files: JobRevisionFile[] = [];
        for (const [index, path] of paths.entries())
          files.push(await openSource(deps, path, ["checkpoint", "paths", String(index)]));
        const workspaceId = `lenso-job-checkpoints/${fence.id}`;
        const revision = await tellTrouble(deps, "revisions", () =>
          revisions.seal({ workspaceId, files }, { signal: gate.signal }),
        );
        const checkpoint = { revision, metadata: owned, parent: newest?.ordinal, format, formatVersion };
        const ordinal = await inOrder(() =>
          untilAnswered(gate, trouble, () => admitCheckpoint(records, fence, checkpoint)),
        );
        if (ordinal === undefined) return gate.lose();
        newest = { ordinal, revision };
        return revision;
      }),
    );
}

/** Metadata that the schema takes, owned, as it was given: whoever resumes there validates it by the schema of then. */
async function validMetadata(schema: JobSchema, metadata: unknown): Promise<JsonValue> {
  const given = ownJson(metadata, configurationLimits, metadataPlace);
  const validation = await validateValue(schema, given, configurationLimits);
  if (validation.ok) return given;
  const [issue] = validation.issues;
  return refuse(
    metadataPlace,
    `the metadata schema refuses it${issue === undefined ? "" : `, at "${issue.pointer}": ${issue.message}`}`,
  );
}

const metadataPlace = ["checkpoint", "metadata"];
