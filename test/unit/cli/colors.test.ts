import { describe, expect, it } from 'vitest';
import { colorsFor } from '../../../src/cli/shared/output.js';

describe('colours', () => {
  it.each([
    ['on a terminal', { isTTY: true }, {}, true],
    ['not in a file', {}, {}, false],
    ['not in a file of a CI run', {}, { CI: 'true' }, false],
    ['anywhere when forced', {}, { FORCE_COLOR: '1' }, true],
    ['not when forced off', {}, { FORCE_COLOR: '0' }, false],
    ['never with NO_COLOR', { isTTY: true }, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    ['not on a terminal that has none', { isTTY: true }, { TERM: 'dumb' }, false],
  ])('%s', (_, stream, env, wanted) => {
    expect(colorsFor(stream, env).isColorSupported).toBe(wanted);
  });
});
