// A process with a job host, to be killed. It says when it is ready, then does what each line asks for and answers it with a line. Started by
// startHostProcess with its options as its one argument.
import type { HostProcessRequest } from "./host-process.ts";
import { type FaultHostOptions, openFaultHost } from "./open-fault-host.ts";

const { host } = await openFaultHost(JSON.parse(process.argv[2] as string) as FaultHostOptions);

async function answer(request: HostProcessRequest): Promise<unknown> {
  switch (request.do) {
    case "work":
      host.startWorker({ concurrency: request.concurrency });
      return null;
    case "submit":
      return Promise.all(request.submissions.map((submission) => host.submit(submission)));
    case "command":
      return Promise.all(
        request.commands.map(({ reference, name, ...asked }) => host.command(reference, name, asked)),
      );
  }
}

const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

await host.list({ limit: 1 }); // so that it is connected
say("ready");
for await (const line of console) say(await answer(JSON.parse(line) as HostProcessRequest));
process.exit(); // whoever asked is gone
