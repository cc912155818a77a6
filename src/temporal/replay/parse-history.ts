import type { History } from '@temporalio/common/lib/proto-utils.js';
import { ConfigurationError } from '../../core/configuration-error.js';
import { errorMessage } from '../../core/errors.js';
import { readHistoryJson } from './history-json.js';

/** A history to replay and its name. */
export interface RecordedHistory {
  /** The file name or the workflow id. */
  readonly name: string;
  readonly history: History;
}

/** The fields of an event's JSON form that are checked before the SDK parses the history. */
interface EventJson {
  readonly eventId?: unknown;
  readonly workflowExecutionStartedEventAttributes?: { readonly workflowType?: { readonly name?: unknown } };
}

/**
 * Parses a history from `temporal workflow show --output json` or from a download of the Temporal UI.
 *
 * @throws ConfigurationError if the text is not a complete history
 * @example
 * const recorded = parseHistory('history.json', await readFile('history.json', 'utf8'));
 * for await (const { outcome, error } of replayHistories([recorded])) console.log(outcome, error);
 */
export function parseHistory(name: string, text: string): RecordedHistory {
  const events = eventsOf(name, text);
  const [first] = events;
  if (first?.eventId === undefined) throw invalidHistory(name, 'it has no events');
  if (first.workflowExecutionStartedEventAttributes?.workflowType?.name === undefined)
    throw invalidHistory(
      name,
      `it starts with event ${String(first.eventId)}, not with the start of a workflow`,
    );
  if (hasDecodedPayloads(events)) throw invalidHistory(name, 'its payloads are decoded');
  try {
    return { name, history: readHistoryJson(events) };
  } catch (cause) {
    throw invalidHistory(name, errorMessage(cause), cause);
  }
}

function eventsOf(name: string, text: string): readonly EventJson[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw invalidHistory(name, 'it is not JSON', cause);
  }
  const events: unknown = Array.isArray(json) ? json : (json as { events?: unknown } | null)?.events;
  const isList =
    Array.isArray(events) && events.every((event) => typeof event === 'object' && event !== null);
  if (!isList) throw invalidHistory(name, 'it has no list "events"');
  return events as EventJson[];
}

/** The UI and the `temporal` command can replace encoded payloads by plain values. Such a history cannot be replayed. */
function hasDecodedPayloads(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) =>
    key === 'payloads' && Array.isArray(inner) ? !inner.every(isPayload) : hasDecodedPayloads(inner),
  );
}

function isPayload(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'metadata' in value;
}

function invalidHistory(name: string, why: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError(`${name} is not a history that can be replayed: ${why}`, {
    remedy:
      'Record it again with `temporal workflow show --workflow-id ID --output json > FILE`, or download it from the UI with encoded payloads.',
    cause,
  });
}
