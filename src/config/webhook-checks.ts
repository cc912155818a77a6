import type { PathPart, RawProblem } from './problems.js';
import { DEFAULT_RESOURCES } from './resource-defaults.js';
import { listen } from './schema-webhook.js';
import { isLoopbackAddress } from './urls.js';
import { get, isMap, parseOrUndefined } from './values.js';

/** Checks the rules of `webhook` that compare two parts of the file. */
export function checkWebhook(raw: unknown, path: readonly PathPart[]): RawProblem[] {
  return [...unsignedOnNetwork(raw, path), ...tokenWithDigest(raw, path), ...unknownResources(raw, path)];
}

function unsignedOnNetwork(raw: unknown, path: readonly PathPart[]): RawProblem[] {
  if (get(raw, 'webhook', 'signature') !== 'none') return [];
  const address = parseOrUndefined(listen, get(raw, 'webhook', 'listen') ?? '127.0.0.1:8080');
  if (!address || isLoopbackAddress(address.host)) return [];
  const message =
    'found none with a listen address that other machines can reach; allowed: a signature, or listen on 127.0.0.1';
  return [{ path: [...path, 'webhook', 'signature'], message }];
}

/** `timestamp` has no effect with a token. Without this error, a user could believe that it prevents replays. */
function tokenWithDigest(raw: unknown, path: readonly PathPart[]): RawProblem[] {
  const signature = get(raw, 'webhook', 'signature');
  if (get(signature, 'algorithm') !== 'token') return [];
  return ['encoding', 'timestamp']
    .filter((key) => get(signature, key) !== undefined)
    .map((key) => ({
      path: [...path, 'webhook', 'signature', key],
      at: 'key',
      message: `found ${key} with algorithm: token, which does not sign; ${key} requires one of the hmac algorithms`,
    }));
}

function unknownResources(raw: unknown, path: readonly PathPart[]): RawProblem[] {
  const kinds = get(raw, 'webhook', 'kinds');
  if (!isMap(kinds)) return [];
  const resources = get(raw, 'resources') ?? DEFAULT_RESOURCES;
  if (!Array.isArray(resources)) return [];
  const known: unknown[] = resources.map((one) => (typeof one === 'string' ? one : get(one, 'name')));
  return Object.entries(kinds).flatMap(([kind, named]) =>
    [named]
      .flat()
      .filter((name) => typeof name === 'string' && !known.includes(name))
      .map((name) => ({
        path: [...path, 'webhook', 'kinds', kind],
        message: `found the resource ${JSON.stringify(name)}; allowed: ${known.join(', ')}`,
      })),
  );
}
