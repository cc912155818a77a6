import { describe, expect, it } from 'vitest';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';
import { stuckWork } from '../../../src/temporal/versions/stuck-work.js';

describe('stuckWork', () => {
  it('reads the workers only if a workflow stays on a build', async () => {
    const queries: string[] = [];
    const client = {
      connection: { withDeadline: (_: number, call: () => Promise<unknown>) => call() },
      workflow: {
        list({ query }: { readonly query: string }) {
          queries.push(query);
          return [];
        },
      },
      get workflowService() {
        throw new Error('the workers were read');
      },
    };
    expect(await stuckWork({ client } as unknown as TemporalClient, 'worktrack')).toEqual([]);
    expect(queries).toEqual([expect.stringContaining("TemporalWorkflowVersioningBehavior = 'Pinned'")]);
  });
});
