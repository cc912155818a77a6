import net, { isIPv6 } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { quickIsIPv6 } from '../../../../src/cli/bundle/net.js';

const original = net.isIPv6;
beforeAll(() => quickIsIPv6());
afterAll(() => {
  net.isIPv6 = original;
});

it('gives the same answer as the original', () => {
  expect(net.isIPv6).not.toBe(original);
  for (const address of ['127.0.0.1', 'localhost', '', '::1', 'fe80::1%eth0', '::ffff:10.0.0.1', 'a:b'])
    expect(net.isIPv6(address), address).toBe(isIPv6(address));
});
