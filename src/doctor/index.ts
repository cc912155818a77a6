export {
  type Cause,
  type ConnectionFinding,
  type Finding,
  ok,
  problem,
  warning,
  worstCause,
} from './finding.js';
export { plainHashWarning } from './masking.js';
export { type DoctorInput, runChecks } from './run-checks.js';
export { worldReadableWarnings } from './secret.js';
export type { TemporalPlace } from './temporal.js';
