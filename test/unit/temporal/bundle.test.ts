import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SHIPPED_BUNDLES } from '../../../src/temporal/worker/bundle.js';

/** The source map at the end of a bundle. */
function sourceMapOf(code: string): {
  readonly sources: readonly string[];
  readonly sourcesContent?: unknown;
} {
  const [, encoded] =
    /\n\/\/# sourceMappingURL=data:application\/json;charset=utf-8;base64,(\S+)\s*$/.exec(code) ?? [];
  return JSON.parse(Buffer.from(encoded ?? '', 'base64').toString());
}

describe.each(Object.entries(SHIPPED_BUNDLES))('the bundle of workflows, %s', (_, path) => {
  const code = readFileSync(path, 'utf8');

  it('has ASCII characters only, which an engine stores with one byte each', () => {
    expect(/[^\0-\x7f]/.exec(code)).toBeNull();
  });

  it('maps a stack trace to its sources without holding their text', () => {
    const map = sourceMapOf(code);
    expect(map.sources.some((source) => source.endsWith('workflows/mirror/resource-mirror.js'))).toBe(true);
    expect(map.sourcesContent).toBeUndefined();
  });
});
