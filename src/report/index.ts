export { renderReport } from './html.js';
export {
  REPORTED_RUNS,
  type Report,
  type ReportedRun,
  type ResourceReport,
  resourceReport,
  withoutRuns,
} from './model.js';
export { type ReportWanted, reportOf } from './report-of.js';
