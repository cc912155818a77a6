import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { DEMO_ORGANIZATION } from '../../src/simulator/index.js';
import { historyText } from '../support/history-text.js';
import { runCommand, startWorkerProcess } from '../support/processes.js';
import { type Stack, startStack } from '../support/stack.js';

const SECRET = 'wt_marker_"c41d/77+ae==';
/** What a careless hand could turn it into. */
const FORMS = [
  SECRET,
  JSON.stringify(SECRET).slice(1, -1),
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString('base64'),
  'wt_marker_',
];

let stack: Stack;
afterEach(() => stack?.stop());

describe('the API key', () => {
  it('is in no history, log, object, answer and command line, though the service echoes it in every error', async () => {
    stack = await startStack({
      apiKey: SECRET,
      resources: '[projects, tasks, members, { name: clients, path: nowhere }]',
      yaml: '    sync: { pageSize: 10 }\n    retries: { giveUpAfter: 20s }\n',
      simulator: { echoAuthorization: true, counts: { projects: 40, tasks: 60, members: 20 } },
    });
    const { admin } = stack.simulator;
    admin.keys.add({
      key: SECRET,
      name: 'marked',
      organization: DEMO_ORGANIZATION,
      grants: ['projects:read', 'tasks:read', 'nowhere:read'],
    });
    // More than one request is repeated, so that the failures of whole attempts are in the histories.
    admin.faults.add({
      match: { resource: 'tasks', page: 2 },
      remaining: 6,
      fault: { kind: 'status', status: 503, body: `{"message":${JSON.stringify(`no: Bearer ${SECRET}`)}}` },
    });
    admin.faults.add({
      match: { resource: 'projects', page: 1 },
      remaining: 1,
      fault: { kind: 'redirect', location: `https://elsewhere.example/${encodeURIComponent(SECRET)}` },
    });
    const commandLines = watchCommandLines();
    const worker = await startWorkerProcess(stack);
    const place = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const exported = await runCommand(stack, ['export', ...place, '--json']);
    const status = await runCommand(stack, ['status', ...place, '--json']);
    await worker.signal('SIGTERM');
    const outcomes = (JSON.parse(exported.stdout) as { runs: { outcome: string }[] }).runs;
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['published', 'published', 'refused', 'failed']);

    const texts = new Map<string, string>();
    texts.set('the answers', [exported.stdout, exported.stderr, status.stdout, status.stderr].join('\n'));
    texts.set('the log', Object.values(await worker.output()).join('\n'));
    const { client } = stack.temporal;
    for await (const { workflowId, runId } of stack.workflows()) {
      texts.set(workflowId, historyText(await client.workflow.getHandle(workflowId, runId).fetchHistory()));
    }
    for (const file of await readdir(stack.lakeFolder, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const path = join(file.parentPath, file.name);
      const bytes = await readFile(path);
      texts.set(path, (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1'));
    }
    texts.set('the command lines', (await commandLines.stop()).join('\n'));

    expect(texts.get('the command lines')).toContain(stack.configFile);
    expect([...texts.keys()].filter((name) => name.endsWith('_datapackage.json')).length).toBe(4);
    expect([...texts.values()].join('')).toContain('[redacted]');
    for (const [name, text] of texts)
      for (const form of FORMS) expect(text.includes(form), `${name} shows the key as ${form}`).toBe(false);
  });
});

/** Collects the command lines of all processes, as every user of the machine may. */
function watchCommandLines(): { stop(): Promise<string[]> } {
  const seen = new Set<string>();
  let going = true;
  const watching = (async () => {
    while (going) {
      for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
        const line = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
        seen.add(line.replaceAll('\0', ' '));
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return {
    async stop() {
      going = false;
      await watching;
      return [...seen];
    },
  };
}
