import { channel } from 'node:diagnostics_channel';
import type { S3Client } from '@aws-sdk/client-s3';
import { isLimit, readAnswer, wordsOf } from './s3-errors.js';

export interface StoreLimit {
  /** The store's words, such as `503 SlowDown: Please reduce your request rate`. */
  readonly said: string;
}

/**
 * Receives a `StoreLimit` for each request that a store limits, in the asynchronous context of the caller. The client sends the
 * request again, so the caller itself only notices that it takes longer.
 */
export const storeLimits = channel('temporal-worktrack:store-limits');

/** Publishes the limits that a client meets. The middleware is inside of the SDK's retries, so it sees every attempt. */
export function reportLimits(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        const answer = readAnswer(error);
        const { $response } = error as { $response?: { statusCode?: number } };
        const status = answer.status ?? $response?.statusCode ?? null;
        if (storeLimits.hasSubscribers && isLimit({ ...answer, status }))
          storeLimits.publish({ said: wordsOf({ ...answer, status }) } satisfies StoreLimit);
        throw error;
      }
    },
    { step: 'finalizeRequest', priority: 'low', name: 'worktrackLimits' },
  );
}
