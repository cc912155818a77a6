import { describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/cli/shared/exit-code.js';
import { failureOf } from '../../../src/cli/shared/failure.js';
import { DetachedError, UsageError } from '../../../src/cli/shared/usage-error.js';
import { ConfigurationError } from '../../../src/core/configuration-error.js';
import { OutOfReachError } from '../../../src/core/reach.js';
import { StoreError, type StoreErrorKind } from '../../../src/lake/store/index.js';
import { failed, report } from './support.js';

describe('the exit code of an export', () => {
  it('is 0 when everything was published, with warnings too', () => {
    expect(exitCodeOf({ outcome: 'published', runs: [report({ warnings: ['a gap'] })] })).toBe(0);
  });

  it('is 1 when a run failed or was cancelled', () => {
    expect(exitCodeOf({ outcome: 'failed', runs: [report(), failed('Transient')] })).toBe(1);
    expect(exitCodeOf({ outcome: 'failed', runs: [failed('Lake'), failed('Configuration')] })).toBe(1);
    expect(exitCodeOf({ outcome: 'cancelled', runs: [report({ outcome: 'cancelled' })] })).toBe(1);
    expect(exitCodeOf({ outcome: 'failed', runs: [] })).toBe(1);
  });

  it('is 2 if all failures are configuration errors', () => {
    expect(exitCodeOf({ outcome: 'failed', runs: [report(), failed('Configuration')] })).toBe(2);
  });

  it('is 3 if the service refused anything, regardless of other outcomes', () => {
    expect(exitCodeOf({ outcome: 'refused', runs: [failed('Refused'), failed('Lake'), report()] })).toBe(3);
    expect(exitCodeOf({ outcome: 'failed', runs: [failed('Lake'), failed('Refused')] })).toBe(3);
  });
});

describe('an error that ends a command', () => {
  const store = (kind: StoreErrorKind) =>
    new StoreError({ kind, operation: 'read', key: null, bucket: 's3://b', problem: 'no', remedy: 'Do it.' });

  it.each([
    [new UsageError('wrong'), 2],
    [new ConfigurationError('wrong', { remedy: 'Mend it.' }), 2],
    [store('access-denied'), 2],
    [store('missing-bucket'), 2],
    [store('checksum'), 1],
    [new OutOfReachError('gone'), 4],
    [new DetachedError('left'), 130],
    [new Error('surprise'), 1],
  ])('exits with the code of its kind: %s', (error, code) => {
    expect(failureOf(error, {}).code).toBe(code);
  });

  it('shows the remedy and no stack', () => {
    const { message } = failureOf(new ConfigurationError('The key is wrong.', { remedy: 'Mend it.' }), {});
    expect(message).toBe('The key is wrong.\nMend it.');
    expect(failureOf(new Error('surprise'), {}).message).not.toContain('at ');
  });

  it('shows the stack of an unexpected error with WORKTRACK_DEBUG', () => {
    expect(failureOf(new Error('surprise'), { WORKTRACK_DEBUG: '1' }).message).toContain('exit-code.test');
  });
});
