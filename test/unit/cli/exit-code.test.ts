import { describe, expect, it } from 'vitest';
import { exitCodeOf, failureOf, UsageError } from '../../../src/cli/shared/choose-exit-code.js';
import { ConfigurationError } from '../../../src/core/errors.js';
import { failed, report } from './support.js';

describe('the exit code of an export', () => {
  it('is 0 when everything was published, even with warnings', () => {
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
  it('shows the remedy and no stack', () => {
    const { message } = failureOf(new ConfigurationError('The key is wrong.', { remedy: 'Mend it.' }), {});
    expect(message).toBe('The key is wrong.\nMend it.');
    const surprise = failureOf(new Error('surprise'), {});
    expect(surprise.code).toBe(1);
    expect(surprise.message).not.toContain('at ');
  });

  it('shows how to list the options after a message that does not say what to do', () => {
    const hint = 'Add --help to the command to see its options.';
    expect(failureOf(new UsageError('--dt is wrong'), {}).message).toBe(`--dt is wrong\n${hint}`);
    expect(failureOf(new UsageError('Correct --dt.'), {}).message).toBe('Correct --dt.');
  });

  it('shows the stack of an unexpected error with WORKTRACK_DEBUG', () => {
    expect(failureOf(new Error('surprise'), { WORKTRACK_DEBUG: '1' }).message).toContain('exit-code.test');
  });
});
