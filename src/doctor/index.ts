import type { ConnectionSettings } from '../core/settings.js';
import { type Examined, type Finding, problem } from './finding.js';
import { checkLake } from './lake.js';
import { checkOtherSecrets, checkSecret } from './secret.js';
import { checkService } from './service.js';
import { checkTemporal, type TemporalPlace } from './temporal.js';
import { checkVersions } from './versions.js';

export { type Cause, type Examined, type Finding, ok, problem, warning, worstCause } from './finding.js';
export { worldReadableWarnings } from './secret.js';
export type { TemporalPlace } from './temporal.js';

export interface Examination {
  readonly connections: readonly ConnectionSettings[];
  /** `null`: its configuration cannot be read, which the caller has said. */
  readonly temporal: TemporalPlace | null;
  /** How long one question to a server may take, milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Tries everything that a run relies on, side by side; what fails keeps nothing else from being tried. Reads one record of each
 * resource and one page, and writes a few small objects below `_staging/` of each lake, which it removes.
 */
export async function examine({ connections, temporal, timeoutMs }: Examination): Promise<Examined[]> {
  const all = await Promise.all([
    ...connections.map((connection) => examineConnection(connection, timeoutMs)),
    guarded('temporal', async () => (temporal === null ? [] : checkTemporal(temporal, timeoutMs))).then(
      concerning(null),
    ),
  ]);
  return [...concerning(null)([checkVersions()]), ...all.flat()];
}

async function examineConnection(connection: ConnectionSettings, timeoutMs: number): Promise<Examined[]> {
  const [secret, others, lake] = await Promise.all([
    checkSecret(connection).then(async (key) => [key, ...(await afterKey(key, connection, timeoutMs))]),
    guarded('key', () => checkOtherSecrets(connection)),
    guarded('lake', () => checkLake(connection, timeoutMs)),
  ]);
  return concerning(connection.name)([...secret, ...others, ...lake]);
}

/** Without a key there is nothing to ask with. */
function afterKey(key: Finding, connection: ConnectionSettings, timeoutMs: number): Promise<Finding[]> {
  return key.state === 'problem'
    ? Promise.resolve([])
    : guarded('service', () => checkService(connection, timeoutMs));
}

function concerning(connection: string | null): (findings: readonly Finding[]) => Examined[] {
  return (findings) => findings.map((finding) => ({ connection, ...finding }));
}

/** A check that breaks is a finding too. */
async function guarded(check: Finding['check'], run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run();
  } catch (error) {
    const { message, code, remedy } = error as { message?: unknown; code?: unknown; remedy?: unknown };
    return [
      problem(
        check,
        code === 'CONFIGURATION' ? 'configuration' : 'other',
        typeof message === 'string' ? message : String(error),
        typeof remedy === 'string' ? remedy : 'Nobody foresaw this; report it.',
      ),
    ];
  }
}
