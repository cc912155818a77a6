import { createRequire } from 'node:module';
import type { Millis } from '../core/brands.js';
import { ConfigurationError, errorMessage, WorktrackError } from '../core/errors.js';
import { inParallel } from '../core/in-parallel.js';
import type { ConnectionSettings } from '../core/settings.js';
import { VERSION } from '../core/version.js';
import { checkNotify } from './check-alert-targets.js';
import { checkLake } from './check-lake.js';
import { checkMasking } from './check-masking.js';
import { checkOrganization } from './check-organization.js';
import { proxyFindings } from './check-proxy.js';
import { checkOtherSecrets, checkSecret } from './check-secrets.js';
import { checkService } from './check-service.js';
import { checkTemporal, type TemporalPlace } from './check-temporal.js';
import { type ConnectionFinding, type Finding, ok, problem, warning } from './finding.js';

/** Connections that are checked at the same time: their time limits also count while others use the processor. */
const PARALLEL_CONNECTIONS = 16;

interface DoctorInput {
  readonly connections: readonly ConnectionSettings[];
  /** `null`: the configuration of Temporal cannot be read, which the caller reports. */
  readonly temporal: TemporalPlace | null;
  /** Time limit of one call to a server. */
  readonly timeoutMs: Millis;
}

/**
 * Checks everything a run depends on, connections in parallel; a failed check does not stop the others. Reads one record of each
 * resource and one page, and writes a few small objects under `_staging/` of each lake, which it removes again.
 */
export async function runChecks({
  connections,
  temporal,
  timeoutMs,
}: DoctorInput): Promise<ConnectionFinding[]> {
  const [perConnection, general] = await Promise.all([
    inParallel(connections, PARALLEL_CONNECTIONS, async (connection) =>
      about(connection.name, await checkConnection(connection, timeoutMs)),
    ),
    temporal === null
      ? []
      : findingOnError('temporal', () => checkTemporal(temporal, connections, timeoutMs)),
  ]);
  return [...about(null, [checkVersions()]), ...perConnection.flat(), ...about(null, general)];
}

function about(connection: string | null, findings: readonly Finding[]): ConnectionFinding[] {
  return findings.map((finding) => ({ connection, ...finding }));
}

async function checkConnection(connection: ConnectionSettings, timeoutMs: number): Promise<Finding[]> {
  const withKey = async (): Promise<Finding[]> => {
    const key = await checkSecret(connection);
    if (key.state === 'problem') return [key];
    return [key, ...(await findingOnError('service', () => checkService(connection, timeoutMs)))];
  };
  const found = await Promise.all([
    proxyFindings(connection),
    withKey(),
    findingOnError('key', () => checkOtherSecrets(connection)),
    findingOnError('masking', () => checkMasking(connection)),
    findingOnError('lake', () => checkLake(connection, timeoutMs)),
    // A key or a lake that cannot be read is a finding of its own check.
    checkOrganization(connection, timeoutMs).catch(() => []),
    findingOnError('alerts', () => checkNotify(connection, timeoutMs)),
  ]);
  return found.flat();
}

/** Turns an error of a check into a finding. */
async function findingOnError(check: Finding['check'], run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run();
  } catch (error) {
    const cause = error instanceof ConfigurationError ? 'configuration' : 'other';
    const remedy = error instanceof WorktrackError ? error.remedy : null;
    return [problem(check, cause, errorMessage(error), remedy ?? 'Unexpected error. Please report it.')];
  }
}

/** Minimum version of Node.js, as in `engines` of package.json. */
const NODE = [20, 19] as const;

/** Reports the versions of this package, Node.js and the SDK, and warns of an old Node.js. */
function checkVersions(): Finding {
  const { node } = process.versions;
  const { version: sdk } = createRequire(import.meta.url)('@temporalio/client/package.json') as {
    version: string;
  };
  const message = `temporal-worktrack ${VERSION}, Node.js ${node}, Temporal SDK ${sdk}`;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > NODE[0] || (major === NODE[0] && minor >= NODE[1])) return ok('versions', message);
  return warning('versions', message, `Install Node.js ${NODE.join('.')} or newer.`);
}
