/** Alerts: events, the rules that lead to messages, and the formats of the vendors (docs/how-to/alerts.md). */
export { ALERT_EVENTS, type AlertEvent, DEFAULT_ALERT_EVENTS, type ProblemKind } from '../alert-events.js';
export { ALERT_FORMATS, type AlertFormat, PAGERDUTY_URL, renderAlert } from './formats.js';
export {
  HAS_STARTED,
  longestGap,
  observeAge,
  observeConfirmation,
  observeRun,
  observeSchedule,
  observeWriteBack,
  WHOLE_CONNECTION,
  withinBudget,
} from './observations.js';
export { exampleAlert } from './texts.js';
