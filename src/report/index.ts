export { auditPage } from './audit-page.js';
export {
  createReport,
  type KnownFromTemporal,
  type ReportRequest,
  readConnectionReport,
} from './create-report.js';
export { renderReport } from './html.js';
export {
  type ConnectionReport,
  type FigureGroup,
  REPORTED_RUNS,
  type Report,
  resourceReport,
  type UnpublishedRun,
} from './model.js';
