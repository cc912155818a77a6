import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Targets for alerts that answer as their vendors document. They know nothing of this package: they only look at the body
 * of a request, and say what the vendor says.
 */
export type Vendor = 'slack' | 'discord' | 'mattermost' | 'teams' | 'pagerduty';

export interface VendorAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answer of a vendor to a body. */
export function answerOf(vendor: Vendor, text: string): VendorAnswer {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { status: 400, body: 'invalid_payload' };
  }
  if (!isObject(body)) return { status: 400, body: 'invalid_payload' };
  switch (vendor) {
    case 'slack':
      // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors
      if (typeof body.text !== 'string' || body.text === '') return { status: 400, body: 'no_text' };
      // The advice of https://docs.slack.dev/reference/methods/chat.postMessage#truncating
      if (body.text.length > 4000) return { status: 400, body: 'msg_too_long' };
      return { status: 200, body: 'ok' };
    case 'discord':
      // https://discord.com/developers/docs/resources/webhook#execute-slackcompatible-webhook
      if (typeof body.text !== 'string' || body.text === '')
        return { status: 400, body: '{"code": 50006, "message": "Cannot send an empty message"}' };
      if (body.text.length > 2000)
        return { status: 400, body: '{"content": ["Must be 2000 or fewer in length."]}' };
      return { status: 200, body: 'ok' };
    case 'mattermost':
      // https://developers.mattermost.com/integrate/webhooks/incoming/
      if (typeof body.text !== 'string' || body.text === '')
        return {
          status: 400,
          body: '{"id":"web.incoming_webhook.text.app_error","message":"No text specified."}',
        };
      return { status: 200, body: 'ok' };
    case 'teams':
      return teamsAnswer(body, text);
    case 'pagerduty':
      return pagerDutyAnswer(body);
  }
}

/** https://learn.microsoft.com/connectors/teams/#microsoft-teams-webhook, and the limit of 28 KB of a message. */
function teamsAnswer(body: Readonly<Record<string, unknown>>, text: string): VendorAnswer {
  if (Buffer.byteLength(text) > 28 * 1024) return { status: 413, body: 'RequestEntityTooLarge' };
  const { type, attachments } = body;
  if (type !== 'message' || !Array.isArray(attachments) || attachments.length === 0)
    return { status: 400, body: "Property 'type' must be 'message' and 'attachments' must be an array" };
  for (const one of attachments as unknown[]) {
    if (
      !isObject(one) ||
      one.contentType !== 'application/vnd.microsoft.card.adaptive' ||
      !isObject(one.content)
    )
      return { status: 400, body: "AdaptiveCards: 'contentType' and 'content' are required" };
    const { type: card, version, body: blocks } = one.content;
    if (card !== 'AdaptiveCard' || typeof version !== 'string' || !Array.isArray(blocks))
      return { status: 400, body: "AdaptiveCards: the card must have 'type', 'version' and 'body'" };
  }
  return { status: 202, body: '' };
}

const SEVERITIES = ['critical', 'error', 'warning', 'info'];

/** https://developer.pagerduty.com/docs/send-alert-event */
function pagerDutyAnswer(body: Readonly<Record<string, unknown>>): VendorAnswer {
  const errors: string[] = [];
  const { routing_key: key, event_action: action, dedup_key: dedup, payload } = body;
  if (typeof key !== 'string' || !/^[0-9a-zA-Z]{32}$/.test(key))
    errors.push("'routing_key' is missing or invalid");
  if (!['trigger', 'acknowledge', 'resolve'].includes(String(action)))
    errors.push("'event_action' is invalid");
  if (action !== 'trigger' && (typeof dedup !== 'string' || dedup === ''))
    errors.push("'dedup_key' is missing");
  if (typeof dedup === 'string' && dedup.length > 255)
    errors.push("Length of 'dedup_key' is incorrect (should be between 1 and 255)");
  if (action === 'trigger') {
    const { summary, source, severity, timestamp } = isObject(payload) ? payload : {};
    if (typeof summary !== 'string' || summary === '') errors.push("'payload.summary' is missing or blank");
    if (String(summary).length > 1024)
      errors.push("Length of 'payload.summary' is incorrect (should be between 1 and 1024)");
    if (typeof source !== 'string' || source === '') errors.push("'payload.source' is missing or blank");
    if (!SEVERITIES.includes(String(severity)))
      errors.push(
        "'payload.severity' is invalid (must be one of the following: 'critical', 'warning', 'error' or 'info')",
      );
    if (timestamp !== undefined && Number.isNaN(Date.parse(String(timestamp))))
      errors.push("'payload.timestamp' is invalid");
  }
  if (errors.length > 0)
    return {
      status: 400,
      body: JSON.stringify({ status: 'invalid event', message: 'Event object is invalid', errors }),
    };
  return {
    status: 202,
    body: JSON.stringify({ status: 'success', message: 'Event processed', dedup_key: dedup }),
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a person sees in a channel, or what PagerDuty shows: the texts of a body, line by line. */
export function shownText(vendor: Vendor, text: string): string {
  const body = JSON.parse(text) as Record<string, unknown>;
  if (vendor === 'pagerduty') {
    const {
      event_action: action,
      dedup_key: key,
      payload,
    } = body as {
      event_action: string;
      dedup_key: string;
      payload?: { summary: string; severity: string };
    };
    return payload === undefined
      ? `${action} ${key}`
      : `${action} ${key}\n${payload.severity}: ${payload.summary}`;
  }
  if (vendor === 'teams') return textsIn(body).join('\n');
  return String(body.text)
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replaceAll('\u200b', '');
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    key === 'text' && typeof one === 'string' ? [one] : textsIn(one),
  );
}

/** A request that a target accepted. */
export interface Delivered {
  readonly vendor: Vendor;
  readonly path: string;
  readonly body: string;
  readonly shown: string;
}

export interface AlertTargets {
  /** The address of a vendor's target. */
  url(vendor: Vendor): string;
  /** Accepted requests, oldest first. */
  readonly delivered: Delivered[];
  /** Refused ones, with the answer. */
  readonly refused: (Delivered & { readonly answer: VendorAnswer })[];
  /** Answers for the next requests of a vendor, instead of the usual ones. */
  readonly next: Record<Vendor, VendorAnswer[]>;
  close(): void;
}

/** Starts the targets on this machine. */
export async function startAlertTargets(): Promise<AlertTargets> {
  const delivered: Delivered[] = [];
  const refused: (Delivered & { answer: VendorAnswer })[] = [];
  const next: Record<Vendor, VendorAnswer[]> = {
    slack: [],
    discord: [],
    mattermost: [],
    teams: [],
    pagerduty: [],
  };
  const server: Server = createServer((request, response) => {
    const answer = (body: string): void => {
      const { url: path = '' } = request;
      const vendor = path.split('/')[1] as Vendor;
      const isJson = request.headers['content-type'] === 'application/json' && request.method === 'POST';
      const found =
        next[vendor].shift() ??
        (isJson ? answerOf(vendor, body) : { status: 415, body: 'invalid content type' });
      const { status, headers, body: text } = found;
      const shown = isJson && status < 300 ? shownText(vendor, body) : '';
      if (status < 300) delivered.push({ vendor, path, body, shown });
      else refused.push({ vendor, path, body, shown, answer: found });
      response.writeHead(status, headers).end(text);
    };
    // A sender that was stopped leaves a part of a request.
    bodyOf(request).then(answer, () => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: (vendor) => `http://127.0.0.1:${port}/${vendor}/hook-${vendor}-secret`,
    ...{ delivered, refused, next },
    close: () => server.close(),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
