import { randomUUID } from 'node:crypto';
import type { Writer } from '../../src/core/contract/index.js';

/** The mirror of a test without Temporal. */
export const WRITER: Writer = { workflow: '0198a1b2-0000-7000-8000-000000000001', namespace: 'default' };

/** Another mirror than all others of a test. */
export function newWriter(): Writer {
  return { workflow: randomUUID(), namespace: 'default' };
}
