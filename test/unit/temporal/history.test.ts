import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../../src/core/errors.js';
import { parseHistory } from '../../../src/temporal/replay.js';

interface Recorded {
  events: Record<string, unknown>[];
}

describe('a history as JSON', () => {
  let text: string;
  let recorded: Recorded;
  beforeAll(async () => {
    text = await readFile(
      join(import.meta.dirname, '../../replay/histories/exportWorkflow.published.json'),
      'utf8',
    );
    recorded = JSON.parse(text) as Recorded;
  });

  const changed = (change: (copy: Recorded) => unknown): string => {
    const copy = JSON.parse(text) as Recorded;
    return JSON.stringify(change(copy) ?? copy);
  };

  it('is read as the SDK reads it', () => {
    expect(parseHistory('a.json', text)).toEqual({ name: 'a.json', history: historyFromJSON(recorded) });
  });

  it('may be a list of events without an envelope, with short names of enumerations', () => {
    const { history } = parseHistory('a.json', text);
    expect(
      parseHistory(
        'a.json',
        changed(({ events }) => events),
      ).history,
    ).toEqual(history);
    const short = text
      .replace(/"EVENT_TYPE_(\w+)"/g, (_, name: string) => `"${camelCase(name)}"`)
      .replace(/"TASK_QUEUE_KIND_(\w+)"/g, (_, name: string) => `"${camelCase(name)}"`)
      .replace(/"PARENT_CLOSE_POLICY_(\w+)"/g, (_, name: string) => `"${camelCase(name)}"`);
    expect(short).toContain('"WorkflowExecutionStarted"');
    expect(short).toContain('"Abandon"');
    expect(parseHistory('a.json', short).history).toEqual(history);
  });

  it('may have fields that this SDK does not know', () => {
    const newer = changed(({ events }) => {
      events[0]!.fieldOfTomorrow = { a: 1 };
    });
    expect(parseHistory('a.json', newer).history).toEqual(parseHistory('a.json', text).history);
  });

  it.each([
    ['no JSON', () => 'Hello', 'it is not JSON'],
    ['null', () => 'null', 'no list "events"'],
    ['a list of other things', () => '[1, 2]', 'no list "events"'],
    ['an empty one', () => '{ "events": [] }', 'it has no events'],
    [
      'one without its beginning',
      () => changed((copy) => ({ events: copy.events.slice(2) })),
      'starts with event 3',
    ],
    [
      'one with payloads decoded for reading',
      () =>
        changed(({ events }) => {
          const started = events[0]!.workflowExecutionStartedEventAttributes as Record<string, unknown>;
          started.input = { payloads: [{ connection: 'acme' }] };
        }),
      'payloads are decoded',
    ],
    ['one with a wrong value', () => text.replace(/"eventTime":\s*"[^"]+"/, '"eventTime":"noon"'), ''],
  ])('is rejected with what to do if it is %s', (_, make, why) => {
    let error: unknown;
    try {
      parseHistory('a.json', make());
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ConfigurationError);
    const { message, remedy } = error as ConfigurationError;
    expect(message).toContain('a.json is not a history that can be replayed: ');
    expect(message).toContain(why);
    expect(remedy).toContain('temporal workflow show');
  });
});

function camelCase(name: string): string {
  return name.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
