import { BlockList, isIP, isIPv4 } from 'node:net';
import { ConfigurationError } from './errors.js';
import { parseUrl } from './parse-url.js';
import type { LakeSettings } from './settings.js';

/** A proxy, and the variable that names it. */
export interface ProxyServer {
  /** Its address, with credentials if the variable has some. Never show it: use `host`. */
  readonly url: string;
  /** Host and port, for messages. */
  readonly host: string;
  readonly variable: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for an address: `HTTPS_PROXY` for https, `HTTP_PROXY` for http, unless `NO_PROXY` names the host. The lower-case
 * names come first, as in curl. Null: connect directly, as always for an address of this machine.
 *
 * @throws ConfigurationError if the variable does not hold the address of an HTTP proxy
 */
export function proxyFor(address: string, env: Environment = process.env): ProxyServer | null {
  const url = new URL(address);
  if (isOwnMachine(url.hostname) || isExcluded(url, variableOf(env, 'no_proxy')?.value ?? '')) return null;
  const found = variableOf(env, url.protocol === 'https:' ? 'https_proxy' : 'http_proxy');
  return found === null ? null : readProxy(found);
}

/** The proxy for Temporal's gRPC, which takes `HTTPS_PROXY` or else `HTTP_PROXY`, with and without TLS. @param address host and port */
export function grpcProxyFor(address: string, env: Environment = process.env): ProxyServer | null {
  const host = address.replace(/^[a-z+]+:\/\//i, '');
  return proxyFor(`https://${host}`, env) ?? proxyFor(`http://${host}`, env);
}

/** Domains of the partitions of AWS, by the first letters of a region (https://docs.aws.amazon.com/general/latest/gr/rande.html). */
const DOMAINS: readonly (readonly [region: RegExp, domain: string])[] = [
  [/^cn-/, 'amazonaws.com.cn'],
  [/^us-isob-/, 'sc2s.sgov.gov'],
  [/^us-isof-/, 'csp.hci.ic.gov'],
  [/^eu-isoe-/, 'cloud.adc-e.uk'],
  [/^us-iso-/, 'c2s.ic.gov'],
  [/^eusc-/, 'amazonaws.eu'],
];

/** The host of S3 in a region of AWS. @param region default: us-east-1 */
export function awsHost(region = 'us-east-1'): string {
  const domain = DOMAINS.find(([of]) => of.test(region))?.[1] ?? 'amazonaws.com';
  return `s3.${region}.${domain}`;
}

/** An address of the store, whose host decides on the proxy. */
export function storeAddress({ url, endpoint, region, forcePathStyle }: LakeSettings): string {
  const bucket = new URL(url).hostname;
  if (endpoint === undefined) return `https://${bucket}.${awsHost(region)}`;
  const { protocol, host, hostname } = new URL(endpoint);
  // As the SDK does, even without `forcePathStyle`: an address of digits has no subdomains.
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  return forcePathStyle === true || isAddress ? `${protocol}//${host}` : `${protocol}//${bucket}.${host}`;
}

function variableOf(env: Environment, name: string): { variable: string; value: string } | null {
  const variable = [name, name.toUpperCase()].find((one) => env[one]?.trim());
  return variable === undefined ? null : { variable, value: env[variable]!.trim() };
}

function readProxy({ variable, value }: { variable: string; value: string }): ProxyServer {
  const address = value.includes('://') ? value : `http://${value}`;
  const url = parseUrl(address);
  if (url !== null && url.host !== '' && (url.protocol === 'http:' || url.protocol === 'https:'))
    return { url: address, host: url.host, variable };
  // Not quoted: it may contain a password.
  throw new ConfigurationError(`${variable} does not hold the address of an HTTP proxy.`, {
    remedy: 'Set it to an address such as http://proxy.example.com:3128, or unset it.',
  });
}

/** Whether a host is this machine. A proxy would reach itself, or refuse. */
function isOwnMachine(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  if (['localhost', '[::1]', '[::]', '0.0.0.0'].includes(name) || name.endsWith('.localhost')) return true;
  return /^(?:\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]|127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/.test(name);
}

/**
 * Whether `NO_PROXY` excludes a host: `*` excludes all, a name its subdomains too, with or without a dot or `*.` in front,
 * a network such as `10.0.0.0/8` its addresses; an entry with a port only that port.
 */
function isExcluded({ protocol, hostname, port }: URL, list: string): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  const wantedPort = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, network, prefix] = /^([\d.]+)\/(\d+)$/.exec(entry) ?? [];
      if (network !== undefined) return isInNetwork(host, network, Number(prefix));
      const [, name = entry, entryPort] = /^(.*[^:]):(\d+)$/.exec(entry) ?? [];
      if (entryPort !== undefined && entryPort !== wantedPort) return false;
      const plain = name.replace(/^\*?\./, '').replace(/^\*/, '');
      return host === plain || host === `[${plain}]` || host.endsWith(`.${plain}`);
    });
}

function isInNetwork(host: string, network: string, prefix: number): boolean {
  if (!isIPv4(host) || !isIPv4(network) || prefix > 32) return false;
  const list = new BlockList();
  list.addSubnet(network, prefix, 'ipv4');
  return list.check(host, 'ipv4');
}
