import type { Demo } from "../demo.ts";
import { messageById } from "../message.ts";
import { check, must, refusalOf, title } from "../narrate.ts";
import { enqueueMail, mailJob } from "./enqueue-mail.ts";

/** An intent is one job, however often it is asked for; a key never stands for two intents. */
export async function enqueueOnce(demo: Demo): Promise<void> {
  title("1. Enqueue twice, one job");
  const id = await enqueueMail(demo, "welcome-ada");
  const accounts = demo.client("accounts", "mail");
  const ada = messageById("welcome-ada");

  const again = must(await accounts.enqueue(mailJob(ada)));
  check(
    "the same request once more makes no second job: same id, created is false",
    again.job_id === id && !again.created,
  );
  const many = await Promise.all(Array.from({ length: 20 }, () => accounts.enqueue(mailJob(ada))));
  check(
    "nor do twenty at the same time",
    many.every((each) => must(each).job_id === id && !must(each).created),
  );
  const other = await accounts.enqueue(mailJob({ ...ada, text: "Your account was closed." }));
  check(
    "the same key with another payload is refused: idempotency_conflict",
    refusalOf(other) === "idempotency_conflict",
  );
}
