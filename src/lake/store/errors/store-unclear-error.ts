import { StoreError } from './store-error.js';

/**
 * A conditional write was sent and its outcome is unknown. Read the object again before any other step
 * (docs/explanation/how-it-works.md#atomic-publishing).
 */
export class StoreUnclearError extends StoreError {
  constructor(details: { operation: string; key: string; bucket: string; problem: string; cause?: unknown }) {
    super({
      ...details,
      kind: 'unclear',
      remedy: 'Read the object again to see whether the write took effect.',
    });
  }
}
