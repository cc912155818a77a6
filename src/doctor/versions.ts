import { createRequire } from 'node:module';
import { VERSION } from '../temporal/version.js';
import { type Finding, ok, warning } from './finding.js';

/** Least version of Node.js, as in `engines` of package.json. */
const NODE = [20, 19] as const;

/** Ours, Node's and the SDK's. */
export function checkVersions(node: string = process.versions.node): Finding {
  const { version: sdk } = createRequire(import.meta.url)('@temporalio/client/package.json') as {
    version: string;
  };
  const message = `temporal-worktrack ${VERSION}, Node.js ${node}, Temporal SDK ${sdk}`;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > NODE[0] || (major === NODE[0] && minor >= NODE[1])) return ok('versions', message);
  return warning('versions', message, `Install Node.js ${NODE.join('.')} or newer.`);
}
