// Everything that needs no database: format, lint with types, types, import directions. `bun run check`.
import { checkSteps } from "./gate/check-steps.ts";

const failed = await checkSteps();
process.exitCode = failed === 0 ? 0 : 1;
