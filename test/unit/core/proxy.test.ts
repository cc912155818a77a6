import { describe, expect, test } from 'vitest';
import { grpcProxyFor, proxyFor, storeAddress } from '../../../src/core/proxy.js';

const PROXY = 'http://user:pass%40word@proxy.example:3128';
const env = (more: Record<string, string> = {}) => ({
  HTTPS_PROXY: PROXY,
  HTTP_PROXY: 'http://plain.example:8080',
  ...more,
});

describe('the proxy for an address', () => {
  test.each([
    ['https://service.example/api', env(), 'proxy.example:3128', 'HTTPS_PROXY'],
    ['http://service.example', env(), 'plain.example:8080', 'HTTP_PROXY'],
    [
      'https://service.example',
      env({ https_proxy: 'https://lower.example' }),
      'lower.example',
      'https_proxy',
    ],
    ['https://service.example', env({ https_proxy: ' ' }), 'proxy.example:3128', 'HTTPS_PROXY'],
    ['https://service.example', { HTTPS_PROXY: 'bare.example:3128' }, 'bare.example:3128', 'HTTPS_PROXY'],
    [
      'https://service.example',
      env({ NO_PROXY: 'other.example, notservice.example' }),
      'proxy.example:3128',
      'HTTPS_PROXY',
    ],
    [
      'https://service.example:8443',
      env({ NO_PROXY: 'service.example:443' }),
      'proxy.example:3128',
      'HTTPS_PROXY',
    ],
    ['https://10.2.0.1', env({ NO_PROXY: '10.1.0.0/16' }), 'proxy.example:3128', 'HTTPS_PROXY'],
    ['https://localhost.example', env(), 'proxy.example:3128', 'HTTPS_PROXY'],
  ])('the proxy for an address of %s with %j is %s, from %s', (address, variables, host, variable) => {
    expect(proxyFor(address, variables)).toMatchObject({ host, variable });
  });

  test.each([
    ['https://service.example', {}],
    ['https://service.example', { HTTP_PROXY: PROXY }],
    ['https://service.example', env({ NO_PROXY: '*' })],
    ['https://service.example', env({ NO_PROXY: 'service.example' })],
    ['https://SERVICE.example.', env({ no_proxy: 'x,Service.Example' })],
    ['https://a.service.example', env({ NO_PROXY: 'service.example' })],
    ['https://a.service.example', env({ NO_PROXY: '.service.example' })],
    ['https://a.service.example', env({ NO_PROXY: '*.service.example' })],
    ['https://service.example', env({ NO_PROXY: 'service.example:443' })],
    ['http://service.example:9000', env({ NO_PROXY: 'service.example:9000' })],
    ['https://10.1.2.3', env({ NO_PROXY: '10.0.0.0/8' })],
    ['https://[2001:db8::1]', env({ NO_PROXY: '2001:db8::1' })],
    ...[
      'http://127.0.0.1:7233',
      'https://127.8.8.8',
      'http://localhost:9000',
      'http://bucket.localhost:9000',
      'http://[::1]:9000',
      'http://[::ffff:127.0.0.1]',
      'http://0.0.0.0:1',
    ].map((address): [string, Record<string, string>] => [address, env({ NO_PROXY: 'nothing.example' })]),
  ])('the proxy for an address of %s with %j is none', (address, variables) => {
    expect(proxyFor(address, variables)).toBeNull();
  });

  test.each(['socks5://proxy.example:1080', 'http://', ':pass@', 'ftp://x'])(
    'is an error for %s, without its text',
    (value) => {
      const find = () => proxyFor('https://service.example', { HTTPS_PROXY: value });
      expect(find).toThrow('HTTPS_PROXY does not hold the address of an HTTP proxy.');
      expect(find).not.toThrow(value);
    },
  );

  test('the proxy for an address of Temporal is that for https, or else that for http', () => {
    expect(grpcProxyFor('temporal.example:7233', env())).toMatchObject({ variable: 'HTTPS_PROXY' });
    expect(grpcProxyFor('temporal.example:7233', { http_proxy: PROXY })).toMatchObject({
      variable: 'http_proxy',
    });
    expect(grpcProxyFor('127.0.0.1:7233', env())).toBeNull();
    expect(grpcProxyFor('[::1]:7233', env())).toBeNull();
    expect(grpcProxyFor('localhost:7233', env())).toBeNull();
  });

  test('the proxy for an address of a store is that for its endpoint', () => {
    expect(storeAddress({ url: 's3://lake/x', region: 'eu-central-1' })).toBe(
      'https://lake.s3.eu-central-1.amazonaws.com',
    );
    expect(
      storeAddress({ url: 's3://lake/x', endpoint: 'http://minio.example:9000', forcePathStyle: true }),
    ).toBe('http://minio.example:9000');
    const named = { url: 's3://lake/x', endpoint: 'http://minio.example:9000' };
    expect(storeAddress(named)).toBe('http://lake.minio.example:9000');
    // An address of digits has no subdomains, so the SDK puts the bucket into the path.
    for (const endpoint of ['http://10.0.0.7:9000', 'http://[::1]:9000'])
      expect(storeAddress({ url: 's3://lake/x', endpoint })).toBe(endpoint);
  });
});
