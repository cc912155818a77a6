import { describe, expect, it } from 'vitest';
import { OutOfReachError, Patience, reach } from '../../../src/temporal/reach.js';

const text = (error: unknown): string => (error as Error).message;

describe('a server that does not answer', () => {
  it('is tried for until the time is over, and whoever waits hears of it once', async () => {
    const heard: string[] = [];
    const attempt = async (): Promise<never> => {
      throw new Error('refused');
    };
    const options = { timeoutMs: 60, onTrouble: (message: string) => heard.push(message) };
    await expect(reach('Temporal', attempt, () => true, text, options)).rejects.toThrow(OutOfReachError);
    expect(heard).toEqual([expect.stringContaining('Temporal is out of reach (refused)')]);
  });

  it('and says nothing at all is given up as well', async () => {
    const silent = () => new Promise<never>(() => {});
    await expect(reach('Temporal', silent, () => true, text, { timeoutMs: 30 })).rejects.toThrow('no answer');
  });

  it('is not tried again for an error that waiting does not mend', async () => {
    const attempt = async (): Promise<never> => {
      throw new Error('no such namespace');
    };
    await expect(reach('Temporal', attempt, () => false, text)).rejects.toThrow('no such namespace');
  });

  it('is forgiven when it answers in between', () => {
    const patience = new Patience('S3', { timeoutMs: 1000 });
    patience.failed('x', 0);
    patience.answered();
    expect(() => patience.failed('x', 1500)).not.toThrow();
    expect(() => patience.failed('x', 2600)).toThrow(OutOfReachError);
  });
});
