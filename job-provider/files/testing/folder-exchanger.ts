import { renameSync, rmSync, symlinkSync, unlinkSync } from "node:fs";

// Exchanges a folder for a link to another one and back, until it is killed. The other side may make or remove the folder at any time.
const { folder, target } = JSON.parse(process.argv[2] as string) as { folder: string; target: string };
const away = `${folder}-away`;
const done = (step: () => void): boolean => {
  try {
    step();
    return true;
  } catch {
    return false;
  }
};
console.log("exchanging");
for (;;) {
  done(() => renameSync(folder, away));
  done(() => symlinkSync(target, folder));
  done(() => unlinkSync(folder));
  while (!done(() => renameSync(away, folder))) rmSync(folder, { recursive: true, force: true });
}
