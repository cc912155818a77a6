import type { AlertMessage } from '../contract/alerts.js';
import { cutText } from '../text-budget.js';
import { cutCharacters } from './fit.js';
import { alertText } from './texts.js';

/** Teams refuses a message of more than 28 KB. */
const MAX_LINES = 20;
const MAX_LINE = 300;
const MAX_LINE_BYTES = 1000;

const COLORS: Readonly<Record<AlertMessage['event'], string>> = {
  failure: 'Attention',
  check: 'Attention',
  'deletes-held': 'Attention',
  behind: 'Attention',
  stale: 'Attention',
  'rows-not-written': 'Attention',
  'schema-change': 'Warning',
  warning: 'Warning',
  recovery: 'Good',
};

/**
 * The body for the Teams workflow "Send webhook alerts to a channel": a message with one Adaptive Card
 * (https://learn.microsoft.com/connectors/teams/#microsoft-teams-webhook). The texts are `TextRun`s, which Teams shows as they are:
 * a `TextBlock` would read Markdown in them.
 */
export function teamsBody(message: AlertMessage): object {
  const { title, sections, footer } = alertText(message);
  const all = sections.flatMap(({ heading, lines }) => [
    ...(heading === null ? [] : [{ text: heading, weight: 'Bolder' }]),
    ...lines.map((text) => ({ text })),
  ]);
  const left = all.length - MAX_LINES;
  const shown = [...all.slice(0, MAX_LINES), ...(left > 0 ? [{ text: `and ${left} more lines` }] : [])];
  const head = { text: title, weight: 'Bolder', size: 'Medium', color: COLORS[message.event] };
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
    inlines: [{ type: 'TextRun', text: cutText(cutCharacters(text, MAX_LINE), MAX_LINE_BYTES), ...style }],
  };
}
