import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';
import { parseSettings } from '../../src/config/index.js';
import { ActivityMirror } from './in-process-mirror.js';

type MirrorOptions = ConstructorParameters<typeof ActivityMirror>[2];

/**
 * A mirror of the resource `entries` of a small service, with a lake in a folder. Both end with the test.
 *
 * @param resource keys of the resource besides its name, in YAML
 * @param connection keys of the connection besides its lake and resources, in YAML
 */
export async function mirrorEntries(
  baseUrl: string,
  resource: string,
  { connection = '', ...options }: MirrorOptions & { readonly connection?: string } = {},
): Promise<ActivityMirror> {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-entries-'));
  const keys = [
    `baseUrl: "${baseUrl}", apiKey: { env: PATH }, lake: { url: "${pathToFileURL(folder).href}" }`,
    ...(connection === '' ? [] : [connection]),
    `resources: [{ name: entries, ${resource} }]`,
  ];
  const settings = parseSettings(`connections: { acme: { ${keys.join(', ')} } }`, 'test');
  const mirror = new ActivityMirror(settings, 'entries', options);
  onTestFinished(async () => {
    await mirror.close();
    await rm(folder, { recursive: true, force: true });
  });
  return mirror;
}
