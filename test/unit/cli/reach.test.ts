import { describe, expect, it } from 'vitest';
import { OutageTimer, OutOfReachError, reach } from '../../../src/core/reachability.js';

const text = (error: unknown): string => (error as Error).message;

describe('a server that does not answer', () => {
  it('is retried until the time limit, and the user is notified once', async () => {
    const messages: string[] = [];
    const attempt = async (): Promise<never> => {
      throw new Error('refused');
    };
    const options = { timeoutMs: 60, onOutage: (message: string) => messages.push(message) };
    await expect(reach('Temporal', attempt, () => true, text, options)).rejects.toThrow(OutOfReachError);
    expect(messages).toEqual([expect.stringContaining('Temporal is unreachable (refused)')]);
  });

  it('times out if it never responds', async () => {
    const silent = () => new Promise<never>(() => {});
    await expect(reach('Temporal', silent, () => true, text, { timeoutMs: 30 })).rejects.toThrow('no answer');
  });

  it('keeps its reason if a last attempt has too little time for an answer', async () => {
    let attempts = 0;
    const attempt = (): Promise<never> =>
      attempts++ === 0 ? Promise.reject(new Error('the limit is used up')) : new Promise(() => {});
    await expect(reach('Temporal', attempt, () => true, text, { timeoutMs: 60 })).rejects.toThrow(
      'has been unreachable for 0.1 s: the limit is used up',
    );
    expect(attempts).toBe(2);
  });

  it('is not retried after an error that waiting does not fix', async () => {
    const attempt = async (): Promise<never> => {
      throw new Error('no such namespace');
    };
    await expect(reach('Temporal', attempt, () => false, text)).rejects.toThrow('no such namespace');
  });

  it('is retried for the full time limit again after it has answered', () => {
    const outage = new OutageTimer('S3', { timeoutMs: 1000 });
    outage.failed('x', 0);
    outage.answered();
    expect(() => outage.failed('x', 1500)).not.toThrow();
    expect(() => outage.failed('x', 2600)).toThrow(OutOfReachError);
  });
});
