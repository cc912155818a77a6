import { describe, expect, it } from 'vitest';
import * as plain from '../../../workflows/index.js';
import * as versioned from '../../../workflows/versioned.js';

describe('the workflows for versioned workers', () => {
  it('are the same ones', () => {
    expect(Object.keys(versioned).sort()).toEqual(Object.keys(plain).sort());
  });

  it('each say what becomes of a run when a new build takes over', () => {
    const silent = Object.entries(versioned)
      .filter(([name]) => name.endsWith('Workflow'))
      .filter(([, workflow]) => {
        const { workflowDefinitionOptions: options } = workflow as { workflowDefinitionOptions?: object };
        return options === undefined || !('versioningBehavior' in options);
      })
      .map(([name]) => name);
    expect(silent).toEqual([]);
  });
});
