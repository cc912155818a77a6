import { StoreError } from './store-error.js';

/**
 * A conditional write was sent and its answer is not known: it may have been carried out or not. Read the object
 * again before anything else (DESIGN 2, "Publishing is one atomic step").
 */
export class StoreUnclearError extends StoreError {
  override readonly name = 'StoreUnclearError';

  constructor(details: { operation: string; key: string; bucket: string; problem: string; cause?: unknown }) {
    super({
      ...details,
      kind: 'unclear',
      remedy: 'Read the object again to see whether the write took effect.',
    });
  }
}
