export { createReport, type ReportRequest } from './create-report.js';
export { renderReport } from './html.js';
export { REPORTED_RUNS, type Report, resourceReport, withoutRuns } from './model.js';
