import type { History } from '@temporalio/common/lib/proto-utils.js';
import { ConfigurationError } from '../core/configuration-error.js';
import { readHistoryJson } from './history-json.js';

/** A history to be replayed, and what to call it. */
export interface RecordedHistory {
  /** A file's name, or the workflow's id. */
  readonly name: string;
  readonly history: History;
}

/** As much of a history's JSON form as is looked at before the SDK reads it. */
interface EventJson {
  readonly eventId?: unknown;
  readonly workflowExecutionStartedEventAttributes?: { readonly workflowType?: { readonly name?: unknown } };
}

/**
 * Reads a history as `temporal workflow show --output json` prints it and Temporal's UI lets one download it.
 *
 * @throws ConfigurationError for a text that is no whole history, with what to do
 */
export function parseHistory(name: string, text: string): RecordedHistory {
  const events = eventsOf(name, text);
  const [first] = events;
  if (first?.eventId === undefined) throw noHistory(name, 'it has no events');
  if (first.workflowExecutionStartedEventAttributes?.workflowType?.name === undefined)
    throw noHistory(name, `it begins with event ${String(first.eventId)}, not with the start of a workflow`);
  if (hasDecodedPayloads(events)) throw noHistory(name, 'its payloads were decoded for reading');
  try {
    return { name, history: readHistoryJson(events) };
  } catch (cause) {
    throw noHistory(name, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function eventsOf(name: string, text: string): readonly EventJson[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw noHistory(name, 'it is no JSON', cause);
  }
  const events: unknown = Array.isArray(json) ? json : (json as { events?: unknown } | null)?.events;
  const isList =
    Array.isArray(events) && events.every((event) => typeof event === 'object' && event !== null);
  if (!isList) throw noHistory(name, 'it has no list "events"');
  return events as EventJson[];
}

/** The UI and the `temporal` command can show plain values where a history has encoded ones: those cannot be replayed. */
function hasDecodedPayloads(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) =>
    key === 'payloads' && Array.isArray(inner) ? !inner.every(isPayload) : hasDecodedPayloads(inner),
  );
}

function isPayload(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'metadata' in value;
}

function noHistory(name: string, why: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError(`${name} is no history that can be replayed: ${why}`, {
    remedy:
      'Record it anew with `temporal workflow show --workflow-id ID --output json > FILE`, or download it from the UI with its payloads encoded.',
    cause,
  });
}
