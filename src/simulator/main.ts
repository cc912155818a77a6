import { runSimulatorCommand } from './simulator-command.js';

await runSimulatorCommand(process.argv.slice(2));
