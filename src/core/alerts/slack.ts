import type { AlertMessage } from '../contract/alerts.js';
import { cutCharacters, fitted } from './fit.js';
import { alertText } from './texts.js';

/**
 * Discord refuses more than 2,000 characters at its `/slack` address, and older Mattermost servers more than 4,000. Slack
 * itself advises at most 4,000.
 */
const MAX_CHARACTERS = 2000;
const MAX_LINE = 400;

/**
 * The body for an incoming webhook of Slack (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks),
 * which Mattermost and Discord's `/slack` address take as well. Only `text`, because the others ignore blocks.
 */
export function slackBody(message: AlertMessage): object {
  const { title, sections, footer } = alertText(message);
  const head = `*${plain(cutCharacters(title, MAX_LINE))}*`;
  const lines = sections.flatMap(({ heading, lines: of }) => [
    ...(heading === null ? [] : [`*${heading}*`]),
    ...of.map((line) => `• ${plain(cutCharacters(line, MAX_LINE))}`),
  ]);
  return { text: fitted([head, ...lines], plain(footer), MAX_CHARACTERS) };
}

/**
 * Slack's three escapes (https://docs.slack.dev/messaging/formatting-message-text#escaping). They also keep a text from the service
 * from becoming a link or a mention such as `<!channel>`; Mattermost and Discord mention names after `@`.
 */
function plain(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '@\u200b');
}
