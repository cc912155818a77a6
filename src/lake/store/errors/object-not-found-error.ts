import { StoreError } from './store-error.js';

/** The object that was asked for does not exist. */
export class ObjectNotFoundError extends StoreError {
  override readonly name = 'ObjectNotFoundError';

  constructor(details: { operation: string; key: string; bucket: string; cause?: unknown }) {
    super({
      ...details,
      kind: 'not-found',
      problem: 'there is no such object',
      remedy:
        'Check whether it was removed by retention or by hand, and whether the lake URL is the right one.',
    });
  }
}
