import type { JobAttemptServices } from "lenso-jobs-plugin/job-provider";
import { buildMesh, type Mesh, turnMesh } from "../mesh/build-mesh.ts";
import { checkMesh, type MeshCheck } from "../mesh/check-mesh.ts";
import { type Measures, measureMesh } from "../mesh/measure-mesh.ts";
import { lengthText } from "../slice/draw-layer.ts";
import { ModelRefused } from "./model-refused.ts";
import type { Model } from "./read-model.ts";
import { lengthUnits, type SlicerSettings } from "./slicer-settings.ts";

/** A mesh that is ready to be sliced, its outside out. */
export interface PreparedMesh {
  readonly mesh: Mesh;
  readonly check: MeshCheck;
  readonly measures: Measures;
  /** Whether the model had it inside out. */
  readonly turned: boolean;
}

/** Joins, measures and checks a model; what is wrong with it goes into the job's log. @throws ModelRefused for one that is broken, unless it may be */
export async function prepareMesh(
  model: Model,
  { unit, onBrokenMesh }: Pick<SlicerSettings, "unit" | "onBrokenMesh">,
  { reportProgress, writeLog, signal }: Pick<JobAttemptServices, "reportProgress" | "writeLog" | "signal">,
): Promise<PreparedMesh> {
  await reportProgress({ phase: "check", completed: 0, total: model.count });
  const built = buildMesh(model, lengthUnits[unit]);
  const turned = measureMesh(built).volume < 0;
  const mesh = turned ? turnMesh(built) : built;
  const check = checkMesh(mesh);
  const measures = measureMesh(mesh);
  signal.throwIfAborted();
  await reportProgress({ phase: "check", completed: model.count, total: model.count });
  await writeLog({
    level: "info",
    message: `${check.triangles} triangles, ${check.vertices} vertices, ${check.closed ? "closed" : "not closed"}`,
  });
  if (turned) await writeLog({ level: "warn", message: "the model is inside out: its triangles are turned" });
  const problems = problemsOf(check);
  const level = onBrokenMesh === "fail" ? "error" : "warn";
  for (const message of problems) await writeLog({ level, message });
  if (!check.closed && onBrokenMesh === "fail")
    throw new ModelRefused("the model is not closed: mend it, or set onBrokenMesh to slice");
  return { mesh, check, measures, turned };
}

function problemsOf(check: MeshCheck): string[] {
  const kinds = [
    [check.openEdges, "edges belong to one triangle only: a hole"],
    [check.flippedEdges, "edges run the same way in both triangles: one is flipped"],
    [check.nonManifoldEdges, "edges belong to more than two triangles"],
  ] as const;
  return kinds.flatMap(([{ count, first }, what]) => {
    const [edge] = first;
    if (edge === undefined) return [];
    const [from, to] = [edge.from, edge.to].map((point) => `(${point.map(lengthText).join(", ")})`);
    return [
      `${count} ${what}; the first from ${from ?? ""} to ${to ?? ""} mm, triangles ${edge.triangles.join(", ")}`,
    ];
  });
}
