import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { codeSpans, pageAt } from '../../support/docs.js';
import { exampleOf, publicNames } from '../../support/public-api.js';

describe('the public API', () => {
  const names = publicNames();

  it('has a docstring with an example for every function', () => {
    const functions = names.filter(({ kind }) => kind === 'function');
    expect(functions.length).toBeGreaterThan(60);
    expect(functions.filter((one) => /^(?:@|$)/.test(one.doc)).map(({ name }) => name)).toEqual([]);
    const workflows = [
      'confirmWriteBackWorkflow',
      ...['resourceMirrorWorkflow', 'changeNoticeWorkflow', 'writeBackLockWorkflow'],
      ...['alertsWorkflow', 'announceWorkflow', 'watchWorkflow', 'workerConfigurationWorkflow'],
    ];
    const without = functions.filter((one) => exampleOf(one) === null).map(({ name }) => name);
    // Only this package starts these.
    expect(without.sort()).toEqual(workflows.sort());
  });

  it('has a docstring for every class', () => {
    const classes = names.filter(({ kind }) => kind === 'class');
    expect(classes.length).toBeGreaterThan(8);
    expect(classes.filter(({ doc }) => doc === '').map(({ name }) => name)).toEqual([]);
  });
});

describe('the page about the API', () => {
  it('names the faults of the simulator', () => {
    const source = readFileSync('src/simulator/faults.ts', 'utf8');
    const kinds = [...source.matchAll(/readonly kind: '([\w-]+)'/g)].map(([, kind]) => kind!);
    const [list = ''] = /^Faults: .*?\./ms.exec(pageAt('docs/reference/api.md').text) ?? [];
    expect(kinds).toContain('lose-response');
    expect(codeSpans(list).sort()).toEqual(kinds.sort());
  });
});
