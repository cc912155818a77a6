export { type Cause, type ConnectionFinding, ok, problem, worstCause } from './finding.js';
export { plainHashWarning } from './masking.js';
export { runChecks } from './run-checks.js';
export { worldReadableWarnings } from './secret.js';
export {
  findWindowFields,
  isEmpty,
  type ServiceTrial,
  type Suggestions,
  tryService,
} from './try-service/index.js';
