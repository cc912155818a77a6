import { describe, expect, it } from 'vitest';
import * as plain from '../../../workflows/index.js';
import * as versioned from '../../../workflows/versioned.js';

describe('the workflows for versioned workers', () => {
  it('are the same as the unversioned workflows', () => {
    expect(Object.keys(versioned).sort()).toEqual(Object.keys(plain).sort());
  });

  it('each have a versioning behaviour', () => {
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
