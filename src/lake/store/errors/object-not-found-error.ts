import { StoreError } from './store-error.js';

/** The requested object does not exist. */
export class ObjectNotFoundError extends StoreError {
  constructor(details: { operation: string; key: string; bucket: string; cause?: unknown }) {
    super({
      ...details,
      kind: 'not-found',
      problem: 'the object does not exist',
      remedy: 'Check whether retention or a person removed it, and whether the lake URL is correct.',
    });
  }
}
