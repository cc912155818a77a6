import type { AlertGroup, AlertMessage } from '../contract/alerts.js';
import { cutText } from '../text-budget.js';
import { alertText, EVENTS, titleOf } from './texts.js';

/** How a target wants its messages. */
export const ALERT_FORMATS = ['json', 'slack', 'teams', 'pagerduty'] as const;
export type AlertFormat = (typeof ALERT_FORMATS)[number];

/** The body of a message in a target's format. @param key the integration key of PagerDuty; the others have none */
export function renderAlert(format: AlertFormat, message: AlertMessage, key: string | null): object {
  const bodies = { json: jsonBody, slack: slackBody, teams: teamsBody, pagerduty: pagerDutyBody };
  return bodies[format](message, key ?? '');
}

/** The body of `format: json` (docs/how-to/alerts.md#json). */
function jsonBody(message: AlertMessage): object {
  const { event, kind, at, news, over, still } = message;
  return {
    event,
    reminder: kind === 'reminder',
    title: titleOf(message),
    at: new Date(at).toISOString(),
    problems: news.groups.map(problemOf),
    recovered: over.groups.map(problemOf),
    open: still.groups.map(problemOf),
    more: { problems: news.more, recovered: over.more, open: still.more },
  };
}

function problemOf({ connection, event, since, resources, count, causes }: AlertGroup): object {
  return {
    ...{ connection, event, since: new Date(since).toISOString() },
    resources: resources.filter((name) => name !== ''),
    count,
    causes: causes.map(({ resources: of, text }) => ({ resources: of, text })),
  };
}

/**
 * Discord refuses more than 2,000 characters at its `/slack` address, and older Mattermost servers more than 4,000. Slack
 * itself advises at most 4,000.
 */
const SLACK_CHARACTERS = 2000;
const SLACK_LINE = 400;

/**
 * The body for an incoming webhook of Slack (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks),
 * which Mattermost and Discord's `/slack` address take as well. Only `text`, because the others ignore blocks.
 */
function slackBody(message: AlertMessage): object {
  const { title, sections, footer } = alertText(message);
  const head = `*${slackEscaped(cutCharacters(title, SLACK_LINE))}*`;
  const lines = sections.flatMap(({ heading, lines: of }) => [
    ...(heading === null ? [] : [`*${heading}*`]),
    ...of.map((line) => `• ${slackEscaped(cutCharacters(line, SLACK_LINE))}`),
  ]);
  return { text: fitted([head, ...lines], slackEscaped(footer), SLACK_CHARACTERS) };
}

/**
 * Slack's three escapes (https://docs.slack.dev/messaging/formatting-message-text#escaping). They also keep a text from the service
 * from becoming a link or a mention such as `<!channel>`; Mattermost and Discord mention names after `@`.
 */
function slackEscaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '@\u200b');
}

/** Teams refuses a message of more than 28 KB. */
const TEAMS_LINES = 20;
const TEAMS_LINE = 300;
const TEAMS_LINE_BYTES = 1000;

/**
 * The body for the Teams workflow "Send webhook alerts to a channel": a message with one Adaptive Card
 * (https://learn.microsoft.com/connectors/teams/#microsoft-teams-webhook). The texts are `TextRun`s, which Teams shows as they are:
 * a `TextBlock` would read Markdown in them.
 */
function teamsBody(message: AlertMessage): object {
  const { title, sections, footer } = alertText(message);
  const all = sections.flatMap(({ heading, lines }) => [
    ...(heading === null ? [] : [{ text: heading, weight: 'Bolder' }]),
    ...lines.map((text) => ({ text })),
  ]);
  const left = all.length - TEAMS_LINES;
  const shown = [...all.slice(0, TEAMS_LINES), ...(left > 0 ? [{ text: `and ${left} more lines` }] : [])];
  const head = { text: title, weight: 'Bolder', size: 'Medium', color: EVENTS[message.event].color };
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          msteams: { width: 'Full' },
          body: [head, ...shown, { text: footer, isSubtle: true }].map(paragraph),
        },
      },
    ],
  };
}

function paragraph({ text, ...style }: { readonly text: string }): object {
  return {
    type: 'RichTextBlock',
    inlines: [
      { type: 'TextRun', text: cutText(cutCharacters(text, TEAMS_LINE), TEAMS_LINE_BYTES), ...style },
    ],
  };
}

/** The address of the Events API v2 (https://developer.pagerduty.com/docs/send-alert-event). */
export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';

const PAGERDUTY_SUMMARY = 1024;
const PAGERDUTY_DEDUP_KEY = 255;
const PAGERDUTY_DETAIL = 1024;

/**
 * One event of the Events API v2. A connection and a kind of problem have one deduplication key forever, so that a repeated
 * event changes nothing, and the end of the problem resolves its incident.
 *
 * @param key the integration key
 */
function pagerDutyBody(message: AlertMessage, key: string): object {
  const { kind, event } = message;
  const group = (kind === 'resolve' ? message.over : message.news).groups[0];
  const connection = group?.connection ?? '';
  const dedupKey = cutCharacters(`worktrack/${event}/${connection}`, PAGERDUTY_DEDUP_KEY);
  const common = { routing_key: key, dedup_key: dedupKey };
  if (kind === 'resolve') return { ...common, event_action: 'resolve' };
  const { title, sections, footer } = alertText(message);
  const lines = sections.flatMap((section) => section.lines);
  const summary = [title, ...lines].join('. ');
  // An incident shows the details below its summary, which has the causes unless it is cut.
  const causes = lines.map((line) => cutCharacters(line, PAGERDUTY_DETAIL));
  return {
    ...common,
    event_action: 'trigger',
    client: 'temporal-worktrack',
    payload: {
      summary: cutCharacters(summary, PAGERDUTY_SUMMARY),
      source: connection,
      severity: EVENTS[event].severity,
      timestamp: new Date(group?.since ?? message.at).toISOString(),
      component: connection,
      class: event,
      custom_details: {
        resources: (group?.resources ?? []).filter((name) => name !== ''),
        ...(summary.length > PAGERDUTY_SUMMARY ? { causes } : {}),
        next: footer,
      },
    },
  };
}

/** Cuts a text to a number of UTF-16 units, between two characters, with an ellipsis at the end. */
function cutCharacters(text: string, max: number): string {
  if (text.length <= max) return text;
  // Half a surrogate pair cannot be encoded.
  return `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Joins lines and a last line. If they are too long together, lines before the last are left out and counted. */
function fitted(lines: readonly string[], last: string, max: number): string {
  for (let kept = lines.length; kept > 1; kept--) {
    const left = lines.length - kept;
    const shown = [...lines.slice(0, kept), ...(left === 0 ? [] : [`and ${left} more lines`]), last].join(
      '\n',
    );
    if (shown.length <= max) return shown;
  }
  return cutCharacters([...lines.slice(0, 1), last].join('\n'), max);
}
