import { afterEach, describe, expect, it, vi } from 'vitest';
import { historyJson } from '../../../src/cli/inspect/history-command.js';
import { statusJson } from '../../../src/cli/inspect/status-lines.js';
import { jsonOf } from '../../../src/cli/inspect/verify-command.js';
import { printEnded } from '../../../src/cli/shared/each-connection.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import type { VerifyReport } from '../../../src/lake/verify/verify-lake.js';
import { pageAt } from '../../support/docs.js';
import { resourceStatus } from './support.js';

/** The elements of each list with one of these names, wherever it is. */
function elementsOf(value: unknown, lists: readonly string[]): object[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(lists.includes(key) && Array.isArray(inner) ? (inner as object[]) : []),
    ...elementsOf(inner, lists),
  ]);
}

describe('in JSON, an element of `connections` or of `resources`', () => {
  afterEach(() => vi.restoreAllMocks());
  const report = { resource: 'tasks', ok: true, problems: [] } as unknown as VerifyReport;
  const history = historyJson([{ name: 'tasks', runs: [] }]);

  function printed(result: object): unknown {
    let text = '';
    vi.spyOn(process.stdout, 'write').mockImplementation((more) => {
      text += String(more);
      return true;
    });
    const connection = { name: 'acme' } as ConnectionSettings;
    const failure = { code: 4, message: 'out of reach' } as const;
    const summary = () => ({ code: 0, problem: false, state: 'ok', detail: '', lines: [] }) as const;
    const ended = [
      { connection, result, failure: null },
      { connection, result: null, failure },
    ];
    printEnded(ended, { json: true }, summary, (found) => found ?? {});
    return JSON.parse(text);
  }

  it.each([
    ['status', () => statusJson([{ name: 'acme', resources: [resourceStatus()], schedule: null }])],
    ['history', () => history],
    ['verify', () => jsonOf([report])],
    ['history of several connections', () => printed(history)],
    ['verify of several connections', () => printed(jsonOf([report]))],
  ])('has its name in `name` (%s)', (_, json) => {
    const found = elementsOf(json(), ['connections', 'resources']);
    expect(found.length).toBeGreaterThan(0);
    for (const element of found) {
      expect(element).toMatchObject({ name: expect.stringMatching(/^(acme|tasks)$/) });
      expect(element).not.toHaveProperty('connection');
      expect(element).not.toHaveProperty('resource');
    }
  });

  it('has its name in `name` in the documentation', () => {
    const { text } = pageAt('docs/reference/json-output.md');
    const firsts = [...text.matchAll(/"(?:connections|resources)": \[\s*\{\s*"(\w+)"/g)].map(
      ([, first]) => first,
    );
    expect(firsts.length).toBeGreaterThan(3);
    expect(new Set(firsts)).toEqual(new Set(['name']));
  });
});
