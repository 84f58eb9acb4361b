import { existsSync } from "node:fs";

/** Namespaces of the network, each a host of its own, joined to this one by a bridge. */
export interface Network extends AsyncDisposable {
  /** This machine as the hosts see it. */
  readonly address: string;
  readonly hosts: readonly NetworkHost[];
  /** From now on, or no longer, the hosts reach only this machine and not each other. */
  keepApart(apart: boolean): void;
}

export interface NetworkHost {
  readonly address: string;
  /** A command that runs there. */
  command(command: readonly string[]): string[];
  /** Takes its link down, or up again. Nobody is told: packets are lost, no connection is reset. */
  link(state: "down" | "up"): void;
  /** Whether a connection from there can be made, within 2 s. */
  reaches(address: string, port: number): Promise<boolean>;
}

/** What names of ours begin with. The owner's process id follows, so that a leftover of a dead owner is known. */
const prefix = "lnf";

/** Why such a network cannot be made here; undefined where it can. */
export function networkProblem(): string | undefined {
  if (process.platform !== "linux") return "network namespaces are Linux's";
  if (process.getuid?.() !== 0) return "network namespaces need root";
  if (Bun.which("ip") === null || Bun.which("bash") === null) return "the programs ip and bash are needed";
  removeOrphans();
  const probe = `${prefix}${process.pid}x`;
  try {
    ip("netns", "add", probe);
    ip("link", "add", probe, "type", "bridge");
  } catch (error) {
    return (error as Error).message;
  } finally {
    Bun.spawnSync(["ip", "link", "del", probe]);
    Bun.spawnSync(["ip", "netns", "del", probe]);
  }
  return undefined;
}

let made = 0;

/** A network with so many hosts, for as long as this process lives. */
export function startNetwork(hosts: number): Network {
  made += 1;
  const name = `${prefix}${process.pid}${String.fromCharCode(96 + made)}`;
  // Of the range that is reserved for tests of networks.
  const subnet = `198.18.${(process.pid * 8 + made) % 256}`;
  const address = `${subnet}.1`;
  ip("link", "add", name, "type", "bridge");
  ip("addr", "add", `${address}/24`, "dev", name);
  ip("link", "set", name, "up");
  const all = Array.from({ length: hosts }, (_, index) => addHost(name, subnet, index));
  return {
    address,
    hosts: all.map(({ host }) => host),
    keepApart(apart) {
      for (const { port } of all)
        ip("link", "set", "dev", port, "type", "bridge_slave", "isolated", apart ? "on" : "off");
    },
    async [Symbol.asyncDispose]() {
      for (const { namespace } of all) ip("netns", "del", namespace);
      ip("link", "del", name);
    },
  };
}

function addHost(bridge: string, subnet: string, index: number) {
  const namespace = `${bridge}${index}`;
  const port = `${bridge}${index}`;
  const address = `${subnet}.${index + 2}`;
  const inside = ["netns", "exec", namespace, "ip"];
  ip("netns", "add", namespace);
  ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace);
  ip("link", "set", port, "master", bridge);
  ip("link", "set", port, "up");
  ip(...inside, "addr", "add", `${address}/24`, "dev", "eth0");
  ip(...inside, "link", "set", "eth0", "up");
  ip(...inside, "link", "set", "lo", "up");
  const host: NetworkHost = {
    address,
    command: (command) => ["ip", "netns", "exec", namespace, ...command],
    link: (state) => ip("link", "set", port, state),
    async reaches(target, targetPort) {
      const probe = ["timeout", "2", "bash", "-c", `exec 3<>/dev/tcp/${target}/${targetPort}`];
      return (await Bun.spawn(host.command(probe), { stderr: "ignore" }).exited) === 0;
    },
  };
  return { namespace, port, host };
}

/** Removes what owners left that died without removing it. */
function removeOrphans(): void {
  const named = new RegExp(`\\b${prefix}(\\d+)[a-x]\\d?\\b`, "g");
  const remove = (list: string[], del: string[]): void => {
    const { stdout } = Bun.spawnSync(["ip", ...list]);
    for (const [name, owner = ""] of new Set(stdout.toString().matchAll(named)))
      if (!existsSync(`/proc/${owner}`)) Bun.spawnSync(["ip", ...del, name]);
  };
  remove(["netns", "list"], ["netns", "del"]);
  remove(["-brief", "link", "show", "type", "bridge"], ["link", "del"]);
}

function ip(...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["ip", ...args]);
  if (exitCode !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr.toString().trim()}`);
}
