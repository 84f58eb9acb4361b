// Longer than 500 lines for its table: one entry a guard, to be read beside the statement that it is about.
//
// Takes each guard out of a copy of the sources, one at a time, and runs the test that must notice: `bun scripts/guard-mutations.ts [NAME]`.
// Prints guard → test; exits 1 when a mutant survives, and when a guard's text is no longer there. Killed mutants of unchanged
// sources are remembered in .cache/guard-mutations.json, so that a run can be broken off and goes on.
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "../host-fixtures/start-postgres.ts";
import { root } from "./gate/run-command.ts";

interface Guard {
  readonly name: string;
  readonly file: string;
  /** Texts that each stand in the file just once, and what comes in their place. Several where one guard stands twice. */
  readonly edits: readonly (readonly [string, string])[];
  readonly test: string;
  /** Part of the killing test's name. */
  readonly named: string;
  /** False where ordinary work breaks too, for instance because a CHECK of the table holds the same. */
  readonly lives?: false;
}

const q = "plugin/store/queries";
const [guards, locks, gap, keys] = ["guards", "locks", "reaper-gap", "uncommitted-keys"].map(
  (name) => `tests/postgres/${name}.test.ts`,
) as [string, string, string, string];
const wrongHands = "is refused to another owner, another token, another job and another id";
const afterWait = "that waits for the row's lock is refused to another token, owner and id";
const spent = "a spent token answers only the same call";
const wordForWord = "is repeated only word for word";
const [lockedLease, exhausted, limits] = ["locked-lease", "exhausted-leases", "limits"].map(
  (name) => `tests/postgres/${name}.test.ts`,
) as [string, string, string];
const undelivered = "tests/contract/undelivered.test.ts";
const keepsAnswer = "whose statement is slow, PostgreSQL, driver bun keeps the answer of the fail before it";
const togetherTest = "tests/contract/end-and-next.test.ts";
/** Changes the completions that share a claim's statement, and leaves those alone in theirs. */
const sharedSteps = (change: string): [string, string] => ["with ${steps}, ", `with \${steps.${change}}, `];
const proof = `${q}/lease-arguments.ts`;
const steps = "plugin/store/lease-steps.ts";
const expiry = " > ${sql.clock}";

const allGuards: readonly Guard[] = [
  {
    name: "complete, step 1: expiry",
    file: `${q}/complete-leases.ts`,
    edits: [
      [`\`l.expires_at${expiry}\``, '"true"'],
      [`\n      and expires_at${expiry}`, ""],
    ],
    test: guards,
    named: "complete is refused at the very moment",
  },
  {
    name: "fail, step 1: expiry",
    file: `${q}/fail-leases.ts`,
    edits: [
      [`\`l.expires_at${expiry}\``, '"true"'],
      [` and l.expires_at${expiry}`, ""],
    ],
    test: guards,
    named: "fail is refused at the very moment",
  },
  {
    name: "renew, step 1: expiry",
    file: `${q}/renew-leases.ts`,
    edits: [
      [`\`l.expires_at${expiry}\``, '"true"'],
      [`\n    and expires_at${expiry}`, ""],
    ],
    test: guards,
    named: "renew is refused at the very moment",
  },
  {
    name: "locked step: expiry after the wait",
    file: proof,
    edits: [[`\n        and k.expires_at${expiry}`, ""]],
    test: locks,
    named: "is refused when it waited past its lease for somebody who",
  },
  {
    name: "locked step: the lock itself",
    file: proof,
    edits: [["$1::text::bigint for update", "$1::text::bigint"]],
    test: locks,
    named: "is refused when it waited past its lease for somebody who had only locked it",
  },
  {
    name: "step 1: token",
    file: proof,
    edits: [["l.token = c.token and ", ""]],
    test: guards,
    named: wrongHands,
  },
  {
    name: "step 1: owner",
    file: proof,
    edits: [["l.owner = c.owner and ", ""]],
    test: guards,
    named: wrongHands,
  },
  {
    name: "step 1: nonce",
    file: proof,
    edits: [[" and l.nonce = c.nonce", ""]],
    test: guards,
    named: wrongHands,
  },
  {
    name: "complete beside a claim: token",
    file: `${q}/claim-ready-jobs.ts`,
    edits: [sharedSteps('replaceAll(" and l.token = c.token", "")')],
    test: togetherTest,
    named: "a completion under another token beside a claim",
  },
  {
    name: "complete beside a claim: owner",
    file: `${q}/claim-ready-jobs.ts`,
    edits: [sharedSteps('replaceAll(" and l.owner = c.owner", "")')],
    test: togetherTest,
    named: "a completion by another worker beside a claim",
  },
  {
    name: "complete beside a claim: nonce",
    file: `${q}/claim-ready-jobs.ts`,
    edits: [sharedSteps('replaceAll(" and l.nonce = c.nonce", "")')],
    test: togetherTest,
    named: "a completion under another id of the job's row beside a claim",
  },
  {
    name: "complete beside a claim: not behind expired leases",
    file: "plugin/store/claim-batch.ts",
    edits: [["    leave();\n    await reap()", "    await reap()"]],
    test: togetherTest,
    named: "does not wait for the look at expired leases",
  },
  {
    name: "complete beside a claim: not behind the whole queue",
    file: "plugin/store/claim-batch.ts",
    edits: [["  leave();\n  if (round.missing", "  if (round.missing"]],
    test: togetherTest,
    named: "does not wait for a claim that looks at the whole queue",
  },
  {
    name: "complete beside a claim: under way after the claim's answer",
    file: "plugin/store/coalescer.ts",
    edits: [["this.#running === 0 && this.#carried === 0", "this.#running === 0"]],
    test: "tests/lifecycle/deactivate.test.ts",
    named: "a completion that went with a claim is finished before the end",
  },
  {
    name: "locked step: token",
    file: proof,
    edits: [["k.token = $2::text::bytea", "$2::text is not null"]],
    test: guards,
    named: afterWait,
  },
  {
    name: "locked step: owner",
    file: proof,
    edits: [["k.owner = $3::text::bigint", "$3::text is not null"]],
    test: guards,
    named: afterWait,
  },
  {
    name: "locked step: nonce",
    file: proof,
    edits: [["k.nonce = $4::text::bytea", "$4::text is not null"]],
    test: guards,
    named: afterWait,
  },
  {
    name: "step 1: waits for nobody",
    file: proof,
    edits: [["for update skip locked", "for update"]],
    test: locks,
    named: "stall no other call",
  },
  {
    name: "fail: attempts bound",
    file: `${q}/fail-leases.ts`,
    edits: [
      ["where retryable and attempt < max_attempts", "where retryable"],
      ["not (retryable and attempt < max_attempts)", "not retryable"],
    ],
    test: guards,
    named: "a failure of the last attempt is final",
  },
  {
    name: "claim: due",
    file: `${q}/claim-ready-jobs.ts`,
    edits: [["r.next_run <= (select now from t)", "true"]],
    test: guards,
    named: "claimable from its very microsecond",
  },
  {
    name: "claim: skips locked rows",
    file: `${q}/claim-ready-jobs.ts`,
    edits: [["for update skip locked", "for update"]],
    test: locks,
    named: "a ready row that somebody holds locked is skipped",
  },
  {
    name: "claim: generation + 1",
    file: `${q}/claim-ready-jobs.ts`,
    edits: [["select id, generation + 1,", "select id, greatest(generation, 1),"]],
    test: guards,
    named: "each claim and fence raises the generation",
  },
  {
    name: "claim: full scan before no_job_available",
    file: "plugin/store/claim-batch.ts",
    edits: [
      [
        "if (round.missing === 0) return;\n  await fullScan();",
        "if (round.missing === 0 || from !== beginning) return;\n  await fullScan();",
      ],
    ],
    test: guards,
    named: "a job below the low-water mark is found",
  },
  {
    name: "claim: low-water mark",
    file: "plugin/store/claim-batch.ts",
    edits: [["const last = await round.take(from);", "const last = await round.take(beginning);"]],
    test: "tests/postgres/plans.test.ts",
    named: "claims go on from the low-water mark",
  },
  {
    name: "claim: undo",
    file: "plugin/store/claim-batch.ts",
    edits: [["if (undelivered.length > 0) background", "if (undelivered.length < 0) background"]],
    test: guards,
    named: "a claim that its caller left gives job",
  },
  {
    name: "undo: token",
    file: `${q}/undo-claims.ts`,
    edits: [["where l.id = c.id and l.token = c.token", "where l.id = c.id"]],
    test: "tests/postgres/late-undo.test.ts",
    named: "leaves the lease alone under which the job was claimed anew",
  },
  {
    name: "undo: attempt − 1",
    file: `${q}/undo-claims.ts`,
    edits: [["attempt - 1,", "attempt,"]],
    test: guards,
    named: "a claim that its caller left gives job",
  },
  {
    name: "claim: byte bound of an answer",
    file: `${q}/claim-ready-jobs.ts`,
    edits: [["then ${jobsThatFit} end", "then null::bigint end"]],
    test: limits,
    named: "are claimed in statements of at most 8 MiB",
  },
  {
    name: "claim: goes on after the byte bound",
    file: "plugin/store/claim-batch.ts",
    edits: [["more = claimed.cut || (", "more = false && ("]],
    test: limits,
    named: "are claimed in statements of at most 8 MiB",
  },
  {
    name: "claim: keeps who settled the attempt before",
    file: `${q}/claim-ready-jobs.ts`,
    edits: [
      [
        "last_code, bytes,\n        settled_owner, settled_token\n      from found",
        "last_code, bytes,\n        null::bigint, null::bytea\n      from found",
      ],
    ],
    test: undelivered,
    named: keepsAnswer,
  },
  {
    name: "undo: restores who settled the attempt before",
    file: `${q}/undo-claims.ts`,
    edits: [
      ["${sql.clock}, settled_owner,", "${sql.clock}, null::bigint,"],
      ["attempt - 1, max_attempts, settled_token,", "attempt - 1, max_attempts, null::bytea,"],
    ],
    test: undelivered,
    named: keepsAnswer,
  },
  {
    name: "undo: nobody waits for it",
    file: "plugin/store/claim-batch.ts",
    edits: [
      [
        "background.run(() => undo(db, undelivered, water.ready))",
        "await undo(db, undelivered, water.ready)",
      ],
    ],
    test: lockedLease,
    named: "the undo of aborted claims delays no other claim",
  },
  {
    name: "undo: tries again",
    file: "plugin/store/take-back.ts",
    edits: [["const maxTries = 6;", "const maxTries = 1;"]],
    test: lockedLease,
    named: "the undo of aborted claims delays no other claim",
  },
  {
    name: "waits: one a row",
    file: "plugin/store/shared-waits.ts",
    edits: [
      ["if (same) {", 'if (same && row === "") {'],
      ["if (groups) {", 'if (groups && row === "") {'],
    ],
    test: lockedLease,
    named: "driver bun a caller that asks complete again and again for a locked row",
  },
  {
    name: "claim: retires at most 64",
    file: "plugin/store/claim-batch.ts",
    edits: [["{ retired: 64,", "{ retired: 64_000,"]],
    test: exhausted,
    named: "one claim retires at most 64 jobs",
  },
  {
    name: "reap: each set is looked for alone",
    file: `${q}/reap-expired-leases.ts`,
    edits: [["\n          and l.${condition}", ""]],
    test: exhausted,
    named: "although thousands that are exhausted expired before it",
  },
  {
    name: "reap: queues of exhausted leases",
    file: `${q}/list-leased-queues.ts`,
    edits: [[', ${next("attempt >= max_attempts", after)}', ""]],
    test: exhausted,
    named: "maintenance finds a queue that has nothing but exhausted leases",
    lives: false,
  },
  {
    name: "reap: queues of leases with attempts left",
    file: `${q}/list-leased-queues.ts`,
    edits: [['${next("attempt < max_attempts", after)}, ', ""]],
    test: locks,
    named: "is left by maintenance, which does not wait",
    lives: false,
  },
  // The reaper's lock and its repeated predicate cannot be shown one without the other: the lock keeps what the look saw, and a TID
  // scan refuses a row that moved. What is shown is that the expiry itself is compared, with what came in between.
  {
    name: "reap: expiry",
    file: `${q}/reap-expired-leases.ts`,
    edits: [
      [" and l.expires_at <= (select now from t)", ""],
      ["\n      and expires_at <= (select now from t)", "\n      and true"],
    ],
    test: gap,
    named: "a lease that was renewed in",
  },
  {
    name: "reap: skips locked rows",
    file: `${q}/reap-expired-leases.ts`,
    edits: [["for update skip locked", "for update"]],
    test: locks,
    named: "is left by maintenance, which does not wait",
  },
  {
    name: "reap: attempts bound",
    file: `${q}/reap-expired-leases.ts`,
    edits: [
      ['expired("attempt < max_attempts"', 'expired("attempt <= max_attempts"'],
      ['expired("attempt >= max_attempts"', 'expired("attempt > max_attempts"'],
    ],
    test: guards,
    named: "a job that was exhausted is never handed out",
    lives: false,
  },
  {
    name: "enqueue: greatest of run time and now",
    file: `${q}/insert-jobs.ts`,
    edits: [["greatest(requested_at, created_at)", "requested_at"]],
    test: guards,
    named: "runs in the order of its insert",
    lives: false,
  },
  {
    name: "enqueue: on conflict",
    file: `${q}/insert-jobs.ts`,
    edits: [["on conflict (producer, idempotency_key) do nothing", ""]],
    test: keys,
    named: "the same intent answers with the other's job",
    lives: false,
  },
  {
    name: "enqueue: intent against the holder",
    file: "plugin/store/enqueue-batch.ts",
    edits: [["call.input.intent === holder.intent", "holder.intent.length > 0"]],
    test: keys,
    named: "another intent conflicts once the other commits",
  },
  {
    name: "enqueue: intent within a batch",
    file: "plugin/store/enqueue-batch.ts",
    edits: [["{ ...id, intent: first.input.intent }", "{ ...id, intent: call.input.intent }"]],
    test: keys,
    named: "is created once in the end",
  },
  {
    name: "settle: differing calls are not merged",
    file: "plugin/store/settle-batch.ts",
    edits: [["steps.sameness(group.input) === steps.sameness(input)", "true"]],
    test: guards,
    named: "two differing failures under one lease",
  },
  {
    name: "replay: owner",
    file: `${q}/locate-settlements.ts`,
    edits: [[" and s.${owner} = c.owner", " and s.${owner} is not null"]],
    test: guards,
    named: spent,
  },
  {
    name: "replay: token",
    file: `${q}/locate-settlements.ts`,
    edits: [["s.${token} = c.token", "s.${token} is not null"]],
    test: guards,
    named: spent,
  },
  {
    name: "replay: nonce",
    file: `${q}/locate-settlements.ts`,
    edits: [[" and j.nonce = c.nonce", ""]],
    test: guards,
    named: spent,
  },
  {
    name: "replay: complete only of complete",
    file: steps,
    edits: [['where.operation === "c"', "where.operation !== undefined"]],
    test: guards,
    named: wordForWord,
  },
  {
    name: "replay: fail only of fail",
    file: steps,
    edits: [['where.operation === "f" && isSame(failure, where)', "true"]],
    test: guards,
    named: spent,
  },
  {
    name: "replay: code",
    file: steps,
    edits: [["failure.code === settled.code && ", ""]],
    test: guards,
    named: wordForWord,
  },
  {
    name: "replay: retryable",
    file: steps,
    edits: [[" && failure.retryable === settled.retryable", ""]],
    test: guards,
    named: wordForWord,
  },
  {
    name: "fence: generation + 1",
    file: "plugin/operator/fence.ts",
    edits: [["generation = generation + 1", "generation = generation"]],
    test: guards,
    named: "each claim and fence raises the generation",
  },
  {
    name: "fence: token",
    file: "plugin/operator/fence.ts",
    edits: [
      [
        "token = pg_catalog.sha256(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) || pg_catalog.uuid_send(pg_catalog.gen_random_uuid())),",
        "",
      ],
    ],
    test: guards,
    named: "each claim and fence raises the generation",
  },
  {
    name: "access before anything",
    file: "plugin/endpoint.ts",
    edits: [["access(context.callerInstance, name)", "true"]],
    test: guards,
    named: "nobody does what its role does not allow",
  },
  {
    name: "access: producers",
    file: "plugin/access.ts",
    edits: [["return producers.has(caller);", "return true;"]],
    test: guards,
    named: "nobody does what its role does not allow",
  },
  {
    name: "access: workers",
    file: "plugin/access.ts",
    edits: [["return workers.has(caller);", "return true;"]],
    test: guards,
    named: "nobody does what its role does not allow",
  },
  {
    name: "access: who inspects",
    file: "plugin/access.ts",
    edits: [
      ["return producers.has(caller) || workers.has(caller) || observers.has(caller);", "return true;"],
    ],
    test: guards,
    named: "nobody does what its role does not allow",
  },
  {
    name: "enqueue: configured queue",
    file: "plugin/operations/enqueue.ts",
    edits: [["!deps.queues.has(queue) || ", ""]],
    test: guards,
    named: "a queue that is not configured",
  },
  {
    name: "claim: configured queue",
    file: "plugin/operations/claim.ts",
    edits: [['if (!deps.queues.has(queue)) return refuse("invalid_queue");', ""]],
    test: guards,
    named: "a queue that is not configured",
  },
  {
    name: "prepare: the schema's Instance",
    file: "plugin/lifecycle/verify-schema.ts",
    edits: [["checkInstanceKey(recorded, instanceKey);", ""]],
    test: "tests/lifecycle/prepare-failures.test.ts",
    named: "a schema that another Instance recorded",
  },
  {
    name: "activate: the schema's Instance",
    file: `${q}/register-instance.ts`,
    edits: [["checkInstanceKey(recorded?.instance_key as string | undefined, instanceKey);", ""]],
    test: "tests/lifecycle/instances.test.ts",
    named: "two Instances that start on one empty schema at once",
  },
];

const folders = ["capability", "plugin", "host-fixtures", "migrations", "tests"];
const files = ["package.json", "bunfig.toml", "tsconfig.json"];
const ordinaryWork = "tests/postgres/life.test.ts";

interface Run {
  readonly exitCode: number;
  readonly passed: number;
  readonly failed: number;
}

async function runTest(folder: string, databaseUrl: string, file: string, named: string): Promise<Run> {
  const pattern = named.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const child = Bun.spawn([process.execPath, "test", file, "-t", pattern, "--timeout=20000"], {
    cwd: folder,
    env: { ...process.env, LENSO_TEST_DATABASE_URL: databaseUrl },
    stdout: "ignore",
    stderr: "pipe",
    timeout: 120_000,
  });
  const output = await new Response(child.stderr).text();
  const count = (what: string): number =>
    Number(new RegExp(`^ *(\\d+) ${what}$`, "m").exec(output)?.[1] ?? 0);
  return { exitCode: await child.exited, passed: count("pass"), failed: count("fail") };
}

function copyOfTheTree(): string {
  const folder = mkdtempSync(join(tmpdir(), "lenso-guards-"));
  for (const name of folders) cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const name of files) cpSync(join(root, name), join(folder, name));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** @throws when a text stands there not just once: then the guard moved, and this list must follow. */
function mutated(guard: Guard, text: string): string {
  return guard.edits.reduce((before, [from, to]) => {
    if (before.split(from).length !== 2)
      throw new Error(`${guard.name}: ${guard.file} does not hold just once: ${from}`);
    return before.replace(from, () => to);
  }, text);
}

async function verdictOf(guard: Guard, folder: string, url: string): Promise<string> {
  const path = join(folder, guard.file);
  const original = readFileSync(path, "utf8");
  writeFileSync(path, mutated(guard, original));
  try {
    const killing = await runTest(folder, url, guard.test, guard.named);
    if (killing.failed === 0) return killing.exitCode === 0 ? "SURVIVED" : "BROKEN: no test ran";
    const plain = guard.lives === false ? undefined : await runTest(folder, url, ordinaryWork, "");
    return plain === undefined || plain.exitCode === 0 ? "killed" : "BROKEN: ordinary work fails too";
  } finally {
    writeFileSync(path, original);
  }
}

/** Of all that a guard's verdict depends on: the sources, what tests share, and its own test file. */
function digestOf({ test, edits, named }: Guard): string {
  const hash = createHash("sha256").update(JSON.stringify([edits, named]));
  const sources = [
    ...new Bun.Glob(`{${folders.join(",")}}/**/*.{ts,sql,json}`).scanSync({ cwd: root }),
  ].sort();
  for (const path of sources.filter(
    (each) => !each.endsWith(".test.ts") || each === test || each === ordinaryWork,
  ))
    hash.update(path).update(readFileSync(join(root, path)));
  return hash.digest("hex");
}

const wanted = allGuards.filter(({ name }) => name.includes(process.argv[2] ?? ""));
for (const guard of wanted) mutated(guard, readFileSync(join(root, guard.file), "utf8"));

const memory = join(root, ".cache/guard-mutations.json");
const killed: Record<string, string> = existsSync(memory) ? JSON.parse(readFileSync(memory, "utf8")) : {};
const digests = new Map(wanted.map((guard) => [guard.name, digestOf(guard)]));
const server = await startPostgres({ settings: { fsync: false } });
const verdicts = new Map<string, string>();
const baselines = new Map<string, Promise<Run>>();
const clean = copyOfTheTree();
const queue = wanted.filter((guard) => killed[guard.name] !== digests.get(guard.name));

async function work(): Promise<void> {
  const folder = copyOfTheTree();
  try {
    for (let guard = queue.shift(); guard; guard = queue.shift()) {
      const { name, test, named } = guard;
      const key = `${test} ${named}`;
      if (!baselines.has(key)) baselines.set(key, runTest(clean, server.url, test, named));
      const before = await (baselines.get(key) as Promise<Run>);
      const green = before.exitCode === 0 && before.passed > 0;
      const verdict = green
        ? await verdictOf(guard, folder, server.url)
        : "BROKEN: its test is not green without the mutation";
      verdicts.set(name, verdict);
      console.log(`${verdict.padEnd(10)} ${name}`);
      if (verdict !== "killed") continue;
      killed[name] = digests.get(name) ?? "";
      mkdirSync(join(root, ".cache"), { recursive: true });
      writeFileSync(memory, JSON.stringify(killed));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

try {
  await Promise.all([work(), work()]);
} finally {
  rmSync(clean, { recursive: true, force: true });
  await server.stop();
}
console.log("\n| Guard | Verdict | Test |\n|---|---|---|");
for (const guard of wanted) {
  const verdict = verdicts.get(guard.name) ?? "killed (before)";
  console.log(`| ${guard.name} | ${verdict} | ${guard.test}: ${guard.named} |`);
}
const alive = [...verdicts.values()].filter((verdict) => verdict !== "killed").length;
console.log(`\n${wanted.length - alive} of ${wanted.length} guards are watched by a test`);
process.exitCode = alive === 0 ? 0 : 1;
