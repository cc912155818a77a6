export {
  createReport,
  type KnownFromTemporal,
  type ReportRequest,
  readConnectionReport,
} from './create-report.js';
export { renderReport } from './html.js';
export type { FigureGroup } from './model.js';
export {
  type ConnectionReport,
  type Coverage,
  REPORTED_RUNS,
  type Report,
  type ResourceReport,
  resourceReport,
  type UnpublishedRun,
} from './model.js';
