import { boundMessage, type Redactor } from './redact.js';

/**
 * The message in an error's body (spec, "Errors": JSON with a message), or the whole text if the body has another form.
 * `raw` is for classification by wording, `shown` is redacted for messages. Null for an empty body.
 */
export function serviceMessage(text: string, redact: Redactor): { raw: string; shown: string } | null {
  const raw = messageIn(text) ?? text;
  const shown = boundMessage(redact(raw));
  return shown === '' ? null : { raw, shown };
}

function messageIn(text: string): string | null {
  const body = parseOrNull(text);
  if (typeof body === 'string') return body;
  const message = field(body, 'message') ?? field(body, 'error');
  if (typeof message === 'string') return message;
  const nested = field(message, 'message');
  return typeof nested === 'string' ? nested : null;
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
