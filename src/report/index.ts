export { createReport, type KnownRuns, type ReportRequest, readConnectionReport } from './create-report.js';
export type { FigureGroup } from './figures.js';
export { renderReport } from './html.js';
export {
  type ConnectionReport,
  type Coverage,
  DEFAULT_MAX_AGE_MS,
  REPORTED_RUNS,
  type Report,
  type ResourceReport,
  resourceReport,
  type UnpublishedRun,
  unreadable,
} from './model.js';
