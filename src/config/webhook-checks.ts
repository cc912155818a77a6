import { DEFAULT_RESOURCES } from './default-resources.js';
import type { PathPart, RawProblem } from './problems.js';
import { listen } from './schema-webhook.js';
import { get, good, isMap } from './tree.js';
import { isLoopbackAddress } from './urls.js';

/** The rules of `webhook` that need two places of the file at once. */
export function checkWebhook(raw: unknown, path: readonly PathPart[]): RawProblem[] {
  return [...unsignedInTheOpen(raw, path), ...tokenWithDigest(raw, path), ...unknownResources(raw, path)];
}

function unsignedInTheOpen(raw: unknown, path: readonly PathPart[]): RawProblem[] {
  if (get(raw, 'webhook', 'signature') !== 'none') return [];
  const address = good(listen, get(raw, 'webhook', 'listen') ?? '127.0.0.1:8080');
  if (!address || isLoopbackAddress(address.host)) return [];
  const message =
    'found none with a listen address that others can reach; allowed: a signature, or listen on 127.0.0.1';
  return [{ path: [...path, 'webhook', 'signature'], message }];
}

/** Silence would let somebody believe that notices are protected against being sent again. */
function tokenWithDigest(raw: unknown, path: readonly PathPart[]): RawProblem[] {
  const signature = get(raw, 'webhook', 'signature');
  if (get(signature, 'algorithm') !== 'token') return [];
  return ['encoding', 'timestamp']
    .filter((key) => get(signature, key) !== undefined)
    .map((key) => ({
      path: [...path, 'webhook', 'signature', key],
      at: 'key',
      message: `found ${key} with algorithm: token, which signs nothing; allowed: with one of the hmac algorithms`,
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
