export { type Cause, type ConnectionFinding, ok, problem, worstCause } from './finding.js';
export { runChecks } from './run-checks.js';
export {
  findWindowFields,
  isEmpty,
  type ServiceTrial,
  type Suggestions,
  tryService,
} from './try-service/try-service.js';
