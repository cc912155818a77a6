import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listenForInterrupts } from '../../../src/cli/shared/interrupt.js';

describe('Ctrl-C while a run is followed', () => {
  const source = new EventEmitter();
  const onFirst = vi.fn();
  const onCancel = vi.fn();
  let interrupts: ReturnType<typeof listenForInterrupts>;
  beforeEach(() => {
    vi.useFakeTimers();
    vi.clearAllMocks();
    interrupts = listenForInterrupts({ windowMs: 3000, onFirst, onCancel, source: source as never });
  });
  afterEach(() => {
    interrupts.release();
    vi.useRealTimers();
  });

  it('once detaches, after a delay for a second one', () => {
    source.emit('SIGINT');
    expect(onFirst).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(2999);
    expect(interrupts.detach.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(interrupts.detach.aborted).toBe(true);
    expect(onCancel).not.toHaveBeenCalled();
  });

  it('twice cancels and waits for the end, a third time leaves', () => {
    source.emit('SIGINT');
    source.emit('SIGINT');
    vi.advanceTimersByTime(60_000);
    expect(onCancel).toHaveBeenCalledOnce();
    expect(interrupts.detach.aborted).toBe(false);
    source.emit('SIGINT');
    expect(interrupts.detach.aborted).toBe(true);
  });

  it('is not awaited after SIGTERM', () => {
    source.emit('SIGTERM');
    expect(interrupts.detach.aborted).toBe(true);
  });

  it('has no handler after the run has ended', () => {
    interrupts.release();
    expect(source.eventNames()).toEqual([]);
  });
});
