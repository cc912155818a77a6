import { createReadStream } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { writeBackWorkflowId } from '../../../src/core/contract/write-back.js';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { holdAnswer } from '../../support/hold.js';
import { runCommand, startCommand, startOnTerminal } from '../../support/processes.js';
import { type Stack, until } from '../../support/stack.js';
import {
  fileIn,
  readReceipts,
  recordsOf,
  stage,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writesSeen,
} from '../../support/write-back.js';

describe('`worktrack write-back`', () => {
  let stack: Stack;
  const write = (...args: string[]) => [
    'write-back',
    ...args,
    '--config',
    stack.configFile,
    '--task-queue',
    stack.taskQueue,
  ];
  const receipts = (...args: string[]) =>
    runCommand(stack, ['write-back', 'receipts', ...args, '--config', stack.configFile]);
  const run = (...args: string[]) => runCommand(stack, write(...args));

  beforeAll(async () => {
    stack = await startWriteBackStack();
    await stack.startWorker();
  });
  afterAll(() => stopWriteBackStack(stack));

  it('is one workflow with one outcome if two machines run the same batch together', async () => {
    const before = writesSeen(stack);
    const held = holdAnswer(stack.simulator, { method: 'POST' });
    const file = await fileIn(stack, timeEntriesCsv(300));
    const commands = [1, 2].map(() => startCommand(stack, write('time-entries', file, '--json')));
    await until(async () => {
      const outputs = await Promise.all(commands.map((command) => command.output()));
      return outputs.every(({ stderr }) => stderr.includes('Workflow:'));
    }, 'both commands follow the batch');
    held.release();
    const codes = await Promise.all(commands.map((command) => command.exited));
    const [one, other] = await Promise.all(commands.map((command) => command.output()));
    expect(codes, one!.stderr + other!.stderr).toEqual([0, 0]);
    expect(one!.stdout).toBe(other!.stdout);
    const printed = JSON.parse(one!.stdout) as { batchId: string; results: ObjectKey };
    expect(printed).toEqual({
      batchId: expect.stringMatching(/^[0-9a-f]{64}$/),
      outcome: 'written',
      counts: { created: 300, updated: 0, rejected: 0, unknown: 0, superseded: 0, skipped: 0, notSent: 0 },
      results: `_write-back/${printed.batchId}/results.csv`,
      differs: [],
    });
    expect(writesSeen(stack) - before).toBe(300);
    const workflowId = writeBackWorkflowId({
      connection: stack.connection,
      resource: 'time-entries',
      batchId: printed.batchId,
    });
    const runs: string[] = [];
    // The server lists a workflow a moment later.
    await until(async () => {
      const query = `WorkflowId = '${workflowId}'`;
      for await (const { runId } of stack.temporal.client.workflow.list({ query })) runs.push(runId);
      return runs.length > 0;
    }, 'the batch is listed');
    expect(runs).toHaveLength(1);
    expect((await readReceipts(stack, printed.batchId)).length).toBe(300);
    const again = await run('time-entries', file, '--json');
    expect([again.code, again.stdout]).toEqual([0, one!.stdout]);
    expect(again.stderr).toMatch(
      new RegExp(
        `This file was written at \\S+Z, .* ago, by batch ${printed.batchId.slice(0, 12)}; nothing was sent`,
      ),
    );
    expect(writesSeen(stack) - before).toBe(300);
  });

  it('rejects an input that does not match its format, with line and column, before a row is sent', async () => {
    const before = writesSeen(stack);
    const good = '2026-11-20T08:00:00Z,60\n';
    const cases: [text: string | Buffer, extension: string, says: RegExp][] = [
      ['', 'csv', /the input is empty/],
      ['\ufeff \n', 'json', /the input is empty/],
      [`startedAt,durationSeconds\n${good}2026,"6\n`, 'csv', /line 3, column 6: an unclosed quotation mark/],
      [
        `startedAt,durationSeconds\n${good}2026,6,7\n`,
        'csv',
        /line 3: the row has 3 cells, but the header has 2/,
      ],
      [
        `startedAt,startedAt:string\n${good}`,
        'csv',
        /line 1: the header names "startedAt" twice, in columns 1 and 2/,
      ],
      [
        `startedAt,durationSeconds:integer\n${good}2026,6.5\n`,
        'csv',
        /line 3: the cell of durationSeconds is not an integer/,
      ],
      ['[{"a":1},\n {"a":}]', 'json', /line 2, column 7: expected a digit/],
      ['{"a":1}\n{"a":1', 'ndjson', /line 2, column 7: the object is not closed/],
      [Buffer.from(`a,b\n1,2\n`, 'utf16le'), 'csv', /UTF-16 without a byte order mark/],
      [
        Buffer.concat([Buffer.from('a\nb\n'), Buffer.from([0xff, 0x0a])]),
        'csv',
        /line 3: the text is not UTF-8/,
      ],
    ];
    for (const [text, extension, says] of cases) {
      const file = await fileIn(stack, text, extension);
      await expect(stage(stack, { resource: 'time-entries', file }), String(says)).rejects.toThrow(says);
    }
    const file = await fileIn(stack, `startedAt,durationSeconds\r\n${good}2026,"6"7\r\n`);
    const { code, stderr, stdout } = await run('time-entries', file, '--json');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('line 3, column 9: text after the closing quotation mark');
    expect(stderr).not.toContain('    at ');
    expect(writesSeen(stack)).toBe(before);
  });

  it('explains an invalid request, with exit code 2', async () => {
    const file = await fileIn(stack, timeEntriesCsv(1));
    const wrong = await run('projects', file);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('time-entries and calendar-entries');
    const missing = await run('time-entries', 'nowhere.csv');
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain('nowhere.csv does not exist');
    await expect(stage(stack, { resource: 'time-entries', file, batchId: '../x' })).rejects.toThrow(
      'not a valid batch id',
    );
    await expect(stage(stack, { resource: 'calendar-entries', file })).rejects.toThrow('no column "source"');
  });

  it('shows the requests of a dry run and sends none', async () => {
    const before = stack.simulator.admin.stats().requests;
    const file = await fileIn(stack, timeEntriesCsv(8, 700));
    const { code, stdout, stderr } = await run('time-entries', file, '--dry-run');
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('8 rows, 8 to send. Nothing was sent.');
    expect(stdout).toContain(`POST ${stack.simulator.url}/api/public/v2/time-entries`);
    expect(stdout).toMatch(
      /Idempotency-Key: [0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/,
    );
    expect(stdout).toContain(
      '{"description":"no. 700","durationSeconds":600,"startedAt":"2026-11-20T08:00:00Z","billable":true}',
    );
    expect(stdout).toContain('and 3 more requests');
    expect(stack.simulator.admin.stats().requests).toBe(before);
    // What it shows is what is sent.
    const [, key] = /Idempotency-Key: (\S+)/.exec(stdout)!;
    await run('time-entries', file, '--no-read-back');
    const sent = stack.simulator.admin.stats().recent.map(({ idempotencyKey }) => idempotencyKey);
    expect(sent).toContain(key);
  });

  it('exits with 1 for a rejected row and with 3 for a refused key, and says what to do', async () => {
    const csv = `durationSeconds:integer,startedAt\n60,2026-11-20T08:00:00Z\n-60,2026-11-20T08:00:00Z\n`;
    const rejected = await run('time-entries', await fileIn(stack, csv), '--no-read-back');
    expect(rejected.code, rejected.stderr).toBe(1);
    expect(rejected.stdout).toContain('1 created, 1 rejected');
    expect(rejected.stderr).toMatch(/main\.js write-back resend .* [0-9a-f]{12} --rejected\n/);
    // A log must not hold the keys of records.
    expect(rejected.stderr).not.toContain('line 3');
    const [, printed] = /Batch ([0-9a-f]{12}): incomplete/.exec(rejected.stdout)!;
    expect(rejected.stderr).toMatch(new RegExp(`main\\.js write-back receipts .*${printed} --rejected`));
    const all = await receipts(printed!);
    expect(all.stdout.split('\n').map((line) => line.split('  ')[0])).toEqual([
      'row 1, line 2',
      'row 2, line 3',
      '',
    ]);
    const lines = await receipts(printed!.slice(0, 6), '--rejected');
    expect(lines.stdout).toMatch(
      /^row 2, line 3 {2}key [0-9a-f]{32}-1 {2}rejected {2}422 {2}durationSeconds must be a non-negative integer\.\n$/,
    );
    const json = JSON.parse((await receipts(printed!, '--rejected', '--json')).stdout);
    expect(json).toMatchObject({
      rows: [{ row: 2, line: 3, outcome: 'rejected', httpStatus: 422, id: null }],
    });
    const none = await receipts('ffff');
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('there is no batch "ffff"')]);

    stack.simulator.admin.keys.revoke('demo');
    const file = await fileIn(stack, timeEntriesCsv(5, 1000));
    const refused = await run('time-entries', file, '--no-read-back', '--json');
    expect(refused.code, refused.stderr).toBe(3);
    expect(JSON.parse(refused.stdout)).toMatchObject({ outcome: 'refused', counts: { created: 0 } });
    expect(refused.stderr).toContain('check apiKey');
    expect(refused.stderr + refused.stdout).not.toContain(DEMO_KEY);
    stack.simulator.admin.keys.add({ key: DEMO_KEY, name: 'demo', organization: 'acme', grants: ['*'] });
    const mended = await run('time-entries', file, '--no-read-back', '--json');
    expect(mended.code, mended.stderr).toBe(0);
    expect(JSON.parse(mended.stdout)).toMatchObject({ outcome: 'written', counts: { created: 5 } });
  });

  it('shows the first five rejected rows on a terminal, with line, key and the words of the service', async () => {
    const rows = Array.from({ length: 7 }, (_, n) => `R${n},-60,2026-11-20T08:00:00Z\n,,\n`);
    const file = await fileIn(stack, `ref,durationSeconds:integer,startedAt\n${rows.join('')}`);
    const command = startOnTerminal(
      stack,
      write('time-entries', file, '--key-column', 'ref', '--no-read-back'),
    );
    expect(await command.exited).toBe(1);
    const { stdout } = await command.output();
    expect(stdout).toContain('7 lines without any value: skipped');
    const shown = [
      ...stdout.matchAll(/line (\d+) {2}key (\w+) {2}rejected {2}422 {2}durationSeconds must be/g),
    ];
    expect(shown.map(([, line, key]) => `${line} ${key}`)).toEqual(['2 R0', '4 R1', '6 R2', '8 R3', '10 R4']);
  });

  it('reads its input from S3 and from standard input, even if it is only a header', async () => {
    const { url } = stack.store;
    await stack.store.write('inbox/entries.csv' as ObjectKey, Buffer.from(timeEntriesCsv(3, 2000)));
    const s3 = await run('time-entries', `${url}/inbox/entries.csv`, '--no-read-back', '--json');
    expect(s3.code, s3.stderr).toBe(0);
    expect(JSON.parse(s3.stdout)).toMatchObject({ counts: { created: 3 } });
    const path = await fileIn(stack, '[]', 'json');
    const command = startCommand(stack, write('time-entries', '-', '--format', 'json', '--json'), {}, 'pipe');
    createReadStream(path).pipe(command.child.stdin!);
    expect(await command.exited).toBe(0);
    expect(JSON.parse((await command.output()).stdout)).toMatchObject({
      outcome: 'written',
      counts: { created: 0 },
    });
  });

  it('leaves the batch running at Ctrl-C, and follows it again when started again', async () => {
    const before = recordsOf(stack, 'time-entries').length;
    const held = holdAnswer(stack.simulator, { method: 'POST' });
    const file = await fileIn(stack, timeEntriesCsv(300, 5000));
    const command = startCommand(stack, write('time-entries', file, '--no-read-back'));
    await until(() => recordsOf(stack, 'time-entries').length > before + 20, 'rows are written');
    await until(async () => (await command.output()).stderr.includes('Workflow: '), 'the command follows');
    command.child.kill('SIGTERM');
    expect(await command.exited).toBe(130);
    expect((await command.output()).stderr).toContain('To follow it again, run the same command.');
    held.release();
    const again = await run('time-entries', file, '--no-read-back', '--json');
    expect(again.code, again.stderr).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({ counts: { created: 300 } });
    expect(recordsOf(stack, 'time-entries').length).toBe(before + 300);
  });

  it('is cancelled by the id that it printed, whose batch id is shortened', async () => {
    const held = holdAnswer(stack.simulator, { method: 'POST' });
    const file = await fileIn(stack, timeEntriesCsv(300, 9000));
    const command = startCommand(stack, write('time-entries', file, '--no-read-back'));
    const printed = async () => /Workflow: (\S+)/.exec((await command.output()).stderr)?.[1];
    await until(async () => (await printed()) !== undefined, 'the command follows');
    const id = (await printed())!;
    expect(id).toMatch(/\/write-back\/time-entries\/[0-9a-f]{12}$/);
    await until(async () => {
      for await (const _ of stack.temporal.client.workflow.list({ query: `WorkflowId STARTS_WITH '${id}'` }))
        return true;
      return false;
    }, 'the batch is listed');
    const requested = await runCommand(stack, [
      'cancel',
      id,
      '--no-wait',
      '--json',
      '--config',
      stack.configFile,
    ]);
    held.release();
    expect(requested.code, requested.stderr).toBe(0);
    expect(JSON.parse(requested.stdout)).toMatchObject({
      workflowId: expect.stringMatching(/[0-9a-f]{64}$/),
      outcome: 'requested',
    });
    expect(await command.exited).toBe(1);
    const batch = id.slice(id.lastIndexOf('/') + 1);
    const again = await run('time-entries', file, '--batch-id', batch, '--no-read-back', '--json');
    expect(again.code, again.stderr).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({
      batchId: expect.stringMatching(`^${batch}[0-9a-f]{52}$`),
      counts: { created: 300 },
    });
  });
});
