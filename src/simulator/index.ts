export {
  type FieldsInput,
  type RecordChoice,
  type RecordScope,
  type RecordsAdmin,
  SimulatorAdmin,
} from './admin.js';
export type {
  ActiveRule,
  Fault,
  FaultMatch,
  FaultRule,
  FaultRules,
  HookAction,
  HookMatch,
  StatusFault,
} from './faults.js';
export type { KeyRing } from './http/api-keys.js';
export { BASE_PATH } from './http/call.js';
export { ODD_SERVICES, type OddBehaviour, type OddService, oddList } from './odd/index.js';
export { type Simulator, startSimulator } from './server.js';
export {
  type ApiKey,
  BUILT_IN_RESOURCES,
  DEMO_KEY,
  DEMO_ORGANIZATION,
  type ListOrder,
  type ResourceDefinition,
  type SimulatorOptions,
  type TunableOptions,
} from './simulator-options.js';
export type { RequestRecord, StatsSnapshot } from './stats.js';
