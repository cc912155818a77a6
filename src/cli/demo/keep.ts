import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { output } from '../shared/output.js';
import type { DemoServers } from './servers.js';

/** Prints the addresses of the servers and waits; Ctrl-C stops them. */
export async function keepServers(servers: DemoServers, folder: string): Promise<never> {
  const file = join(folder, 'env');
  await writeFile(file, environment(servers), { mode: 0o600 });
  const { simulator, s3Endpoint, local, connection } = servers;
  output.out('The servers are running. Ctrl-C stops them.');
  output.out(`  service      ${simulator.url}`);
  output.out(`  S3           ${s3Endpoint}, lake ${connection.lake.url}`);
  output.out(`  Temporal     ${local.temporal.address}, UI ${local.uiUrl ?? 'none'}`);
  output.out(`In another terminal: . ${relative(process.cwd(), file)} && worktrack status`);
  return local.failed;
}

/** The variables that other commands find the servers with. The credentials are those of the demo's own S3 server. */
function environment({ local, configFile }: DemoServers): string {
  const variables = {
    WORKTRACK_CONFIG: configFile,
    TEMPORAL_ADDRESS: local.temporal.address,
    TEMPORAL_NAMESPACE: local.temporal.namespace,
    WORKTRACK_DEMO_API_KEY: process.env.WORKTRACK_DEMO_API_KEY ?? '',
    AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID ?? '',
    AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY ?? '',
  };
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`)
    .join('');
}
