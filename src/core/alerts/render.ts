import type { AlertMessage } from '../contract/alerts.js';
import { jsonBody } from './json.js';
import { pagerDutyBody } from './pagerduty.js';
import { slackBody } from './slack.js';
import { teamsBody } from './teams.js';

/** How a target wants its messages. */
export const ALERT_FORMATS = ['json', 'slack', 'teams', 'pagerduty'] as const;
export type AlertFormat = (typeof ALERT_FORMATS)[number];

/** The body of a message in a target's format. @param key the integration key of PagerDuty; the others have none */
export function renderAlert(format: AlertFormat, message: AlertMessage, key: string | null): object {
  switch (format) {
    case 'slack':
      return slackBody(message);
    case 'teams':
      return teamsBody(message);
    case 'pagerduty':
      return pagerDutyBody(message, key ?? '');
    case 'json':
      return jsonBody(message);
  }
}
