import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { configJsonSchema } from '../../../src/config/index.js';

/** Follows property names into a schema. */
function at(schema: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], schema);
}

describe('the JSON Schema for editors', () => {
  const schema = configJsonSchema();
  const connection = at(schema, 'properties', 'connections', 'additionalProperties');

  it('has the keys and the required keys, and no others', () => {
    expect(Object.keys(at(connection, 'properties') as object)).toEqual([
      'baseUrl',
      'apiKey',
      'lake',
      'resources',
      'masking',
      'retries',
      'errors',
      'http',
      'json',
      'sync',
      'deletes',
      'csv',
      'retention',
      'tables',
      'schedule',
      'audit',
      'webhook',
      'notify',
      'onPublished',
      'writeBack',
    ]);
    expect(at(connection, 'required')).toEqual(['baseUrl', 'apiKey', 'lake']);
    expect(at(connection, 'additionalProperties')).toBe(false);
  });

  it('shows defaults as the file writes them', () => {
    const sync = at(connection, 'properties', 'sync', 'properties');
    expect(at(sync, 'overlap', 'default')).toBe('5m');
    expect(at(sync, 'pageSize', 'default')).toBe(1000);
  });

  it('accepts secrets as references only', () => {
    expect(at(connection, 'properties', 'apiKey', 'oneOf')).toHaveLength(2);
  });

  it('accepts the documented example and rejects a typo', () => {
    const check = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    const good = {
      baseUrl: 'https://t.example',
      apiKey: { env: 'K' },
      lake: { url: 's3://l' },
      resources: ['a', { name: 'b', key: ['x', 'y'] }],
    };
    expect(check.safeParse({ connections: { a: good } }).error).toBeUndefined();
    expect(check.safeParse({ connections: { a: { ...good, resuorces: [] } } }).success).toBe(false);
    expect(check.safeParse({ connections: { a: { ...good, apiKey: 'plain' } } }).success).toBe(false);
  });

  it('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
  });
});
