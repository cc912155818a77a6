import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runCommand, startWorkerProcess } from '../../support/processes.js';
import { type Stack, startStack } from '../../support/stack.js';
import { ATTACKS } from '../../unit/linear/attacks.js';

const CHARS = 60_000;
const STATUSES = [403, 503, 200, 400, 429, 404] as const;

let stack: Stack;
const ends: (() => void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await stack?.stop();
});

/** A service that answers every request with the next hostile text, with each status in turn. */
async function startHostileService() {
  const texts = Object.values(ATTACKS);
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume();
    const text = texts[requests % texts.length]!(CHARS);
    response.writeHead(STATUSES[requests % STATUSES.length]!, { 'content-type': 'text/html' });
    response.end(text);
    requests += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered: () => Math.min(requests, texts.length * STATUSES.length),
    all: texts.length,
  };
}

describe('a worker', () => {
  it('serves a polite connection while another service answers with texts that make careless code slow', async () => {
    const hostile = await startHostileService();
    stack = await startStack({
      s3: true,
      simulator: { awkward: false, counts: { projects: 20, tasks: 2_000 } },
      resources: '[projects, tasks]',
    });
    const [, body = ''] = (await readFile(stack.configFile, 'utf8')).split(/^ {2}[\w-]+:\n/m);
    const odd = body
      .replace(/baseUrl: .*/, `baseUrl: ${hostile.url}`)
      .replace(/url: "?s3:\/\/[^"\s,}]+/, (url) => `${url}-hostile`)
      .replace(
        / {4}resources: .*/,
        `    resources: [${Array.from({ length: 12 }, (_, at) => `list${at}`).join(', ')}]`,
      );
    const config = join(stack.folder, 'two.yaml');
    const tries = '    retries: { giveUpAfter: 30s }\n';
    await writeFile(config, `connections:\n  polite:\n${body}\n  hostile:\n${odd}\n${tries}`);
    const worker = await startWorkerProcess({ ...stack, configFile: config }, {}, ['--log-format', 'json']);
    ends.push(() => void worker.child.kill('SIGKILL'));
    const place = ['--config', config, '--task-queue', stack.taskQueue, '--json'];
    const outcomes: string[] = [];
    const exportHostile = async (): Promise<void> => {
      // Some answers are final, so it takes several exports until each text was among the answers.
      while (hostile.answered() < hostile.all) {
        const { stdout } = await runCommand(stack, ['export', '--connection', 'hostile', ...place]);
        outcomes.push((JSON.parse(stdout) as { outcome: string }).outcome);
      }
    };
    const bad = exportHostile();
    for (let round = 0; round < 3; round++) {
      const began = performance.now();
      const good = await runCommand(stack, ['export', '--connection', 'polite', ...place]);
      expect(JSON.parse(good.stdout)).toMatchObject({ outcome: 'published' });
      console.info(`polite export ${round + 1}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
    }
    await bad;
    console.info(`${hostile.answered()} hostile answers in ${outcomes.length} exports`);
    expect(outcomes).not.toContain('published');
    const { stderr } = await worker.output();
    expect(stderr).not.toContain('the event loop was blocked');
  });
});
