import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { column, ENTRY_COLUMNS, entryRows, StagedFiles } from './staged.js';

describe('an input, compared with the published snapshot', () => {
  let files: StagedFiles;
  beforeEach(() => {
    files = new StagedFiles();
  });
  afterEach(() => files.remove());
  const publishEntries = (count = 20) => files.publish('time-entries', ENTRY_COLUMNS, entryRows(count));

  const unlike: [name: string, text: string, message: RegExp][] = [
    [
      'x.csv',
      'startedAt\n2026-11-02T08:00:00Z\n02.11.2026 08:00\n',
      /^line 3: .*startedAt .*<02\.11\.2026 08:00>/,
    ],
    ['x.csv', 'startedAt\n30 February\n', /^line 2: the cell of startedAt .*<30 February>/],
    ['x.csv', 'startedAt\n2026-02-30T08:00:00Z\n', /<2026-02-30T08:00:00Z>/],
    ['x.csv', 'startedAt\n2026-11-02T08:00:00\n', /<2026-11-02T08:00:00>/],
    ['x.csv', 'startedAt\n2026-11-02\n', /a date without a time/],
    ['x.csv', 'startedAt\n""\n', /<>/],
    ['x.csv', 'day\n2026-11-02T08:00:00Z\n', /not a date in ISO 8601/],
    ['x.csv', 'day\n2026-02-29\n', /<2026-02-29>/],
    ['x.csv', 'rate\n1,5\n'.replace('1,5', '"1,5"'), /^line 2: the cell of rate .*<1,5>.*--decimal-comma/],
    ['x.csv', 'billable\nyes\n', /^line 2: the cell of billable .*<yes>/],
    [
      'x.json',
      '[{"startedAt":"2026-11-02T08:00:00Z"},\n{"startedAt":"02.11.2026 08:00"}]',
      /^line 2: .*startedAt/,
    ],
    ['x.json', '[{"startedAt":1763623200}]', /startedAt .*<1763623200>/],
    ['x.ndjson', '{"rate":"1,5"}\n', /^line 1: the cell of rate is not a number.*<1,5>/],
    ['x.ndjson', '{"billable":"true"}\n', /billable is not true or false/],
  ];
  for (const [name, text, message] of unlike)
    it(`is an error with line, column and value: ${JSON.stringify(text)}`, async () => {
      await publishEntries();
      expect(await files.error(name, text)).toMatch(message);
    });

  it('is an error only if at least 20 values are published, and counts no empty cells', async () => {
    const text = 'description,startedAt\nx,02.11.2026 08:00\n';
    await publishEntries(19);
    expect(await files.error('x.csv', text)).toBe('no error');
    const rows = entryRows(40).map((row, n) =>
      row.map((cell, at) => (at === 4 && n % 2 === 0 ? null : cell)),
    );
    await files.publish('time-entries', ENTRY_COLUMNS, rows);
    expect(await files.error('x.csv', text)).toContain('line 2: the cell of startedAt');
    await files.publish('time-entries', ENTRY_COLUMNS, rows.slice(1));
    expect(await files.error('x.csv', text)).toContain('line 2: the cell of startedAt');
    await files.publish('time-entries', ENTRY_COLUMNS, rows.slice(2));
    expect(await files.error('x.csv', text)).toBe('no error');
  });

  it('can have any form of ISO 8601 with a zone, null, and any text in a column of text', async () => {
    await publishEntries();
    const times = ['2026-11-02T08:00Z', '2026-11-02T08:00:00.1234567Z', '2026-11-02T08:00:00+01:00'];
    const bodies = times.map((startedAt) => ({ description: '1,5', startedAt }));
    expect(
      await files.bodies('x.csv', `description,startedAt\n${times.map((one) => `"1,5",${one}\n`).join('')}`),
    ).toEqual(bodies);
    expect(
      await files.bodies('x.json', JSON.stringify([...bodies, { description: 'x', rate: null }])),
    ).toHaveLength(4);
  });

  it('is text if the header or --text-column says so', async () => {
    await publishEntries();
    expect(await files.bodies('x.csv', 'startedAt:string,rate : string\n30 February,"1,5"\n')).toEqual([
      { startedAt: '30 February', rate: '1,5' },
    ]);
    const options = { textColumns: ['startedAt', 'rate'] };
    expect(await files.bodies('x.csv', 'startedAt,rate\n30 February,"1,5"\n', options)).toEqual([
      { startedAt: '30 February', rate: '1,5' },
    ]);
    expect(await files.bodies('x.json', '[{"startedAt":"30 February","rate":"1,5"}]', options)).toHaveLength(
      1,
    );
  });

  it('does not put the value into the message, which a history may hold', async () => {
    await publishEntries();
    const thrown = await files.check('x.csv', 'startedAt\n30 February\n').catch((error: unknown) => error);
    expect(String(thrown) + JSON.stringify(thrown)).not.toContain('February');
  });

  it('is an error for creates if ids are those of published records', async () => {
    await publishEntries();
    const text = 'id,description\nnew-1,a\nE0003,b\nE0007,c\n';
    expect(await files.error('x.csv', text)).toBe(
      'line 3: the row has the id of a published record, as 2 of 3 rows with id do. time-entries can only be created, ' +
        'not changed: these rows would become further records. To create them as further records, leave the ids out: --drop-column id',
    );
    expect(await files.error('x.json', '[{"id":"E0003","description":"b"}]')).toContain(
      'line 1: the row has the id',
    );
    expect(await files.bodies('x.csv', text, { dropColumns: ['id'] })).toEqual([
      { description: 'a' },
      { description: 'b' },
      { description: 'c' },
    ]);
    expect(await files.error('x.csv', 'id,description\nnew-1,a\n')).toBe('no error');
  });

  it('leaves metadata columns out, and rows that are deleted in the service', async () => {
    await publishEntries();
    const head = '_run_id,_synced_at,_deleted_at,_run_id__field,description\n';
    const text = `${head}r,2026-11-21T02:00:00Z,,own,kept\nr,2026-11-21T02:00:00Z,2026-11-21T02:00:00Z,own,gone\n`;
    expect(await files.bodies('x.csv', text)).toEqual([{ _run_id: 'own', description: 'kept' }]);
    expect(await files.check('x.csv', text)).toMatchObject({ rows: 1, facts: { deletedRows: 1 } });
    expect(await files.bodies('x.csv', text, { dropColumns: ['_deleted_at'] })).toHaveLength(2);
    const json =
      '[{"_run_id":"r","_deleted_at":null,"description":"kept"},{"_deleted_at":"x","description":"gone"}]';
    expect(await files.bodies('x.json', json)).toEqual([{ description: 'kept' }]);
  });

  it('makes objects of flattened columns, and says if a field is a value and an object', async () => {
    const columns = [column('id', 'text'), column('project', 'text'), column('project.id', 'text')];
    await files.publish('time-entries', columns, [['E1', null, 'P1']], { nested: 'flatten' });
    const text = 'description,project,project.id,project.lead.name,a..b\nx,,P1,Ann,1\ny,none,,,\n';
    expect(await files.bodies('x.csv', text)).toEqual([
      { description: 'x', project: { id: 'P1', lead: { name: 'Ann' } }, 'a..b': '1' },
      { description: 'y', project: 'none' },
    ]);
    expect(await files.error('x.csv', 'project,project.id\nnone,P1\n')).toMatch(
      /^line 2: the row has a value in "project\.id", and also in "project"/,
    );
    const [row] = await files.planned('x.csv', 'description,project.id\nx,P1\n', { keyColumn: 'project.id' });
    expect(row?.key).toBe('P1');
  });

  it('keeps dotted names without nested: flatten', async () => {
    await publishEntries();
    expect(await files.bodies('x.csv', 'project.id\nP1\n')).toEqual([{ 'project.id': 'P1' }]);
  });

  it('can have a key column that is not sent', async () => {
    const options = { keyColumn: 'ref', dropColumns: ['ref'] };
    for (const [name, text] of [
      ['x.csv', 'ref,description\nR1,a\n'],
      ['x.ndjson', '{"ref":"R1","description":"a"}\n'],
    ] as const) {
      const [row] = await files.planned(name, text, options);
      expect(row).toMatchObject({ key: 'R1', body: '{"description":"a"}' });
    }
  });

  it('says if a column to leave out does not exist', async () => {
    for (const [name, text] of [
      ['x.csv', 'a\n1\n'],
      ['x.json', '[{"a":1}]'],
    ] as const)
      expect(await files.error(name, text, { dropColumns: ['b'] })).toContain('no column "b" to leave out');
  });

  it('can be the output of cat --json, whose values are cells', async () => {
    await publishEntries();
    const head =
      '{"resource":"time-entries","runId":"r","columns":["_run_id","id","durationSeconds","rate","billable"],"rows":[';
    const text = `${head}\n{"_run_id":"r","id":"n1","durationSeconds":"60","rate":"12.50","billable":"true","day":null}\n]}\n`;
    expect(await files.bodies('x.json', text)).toEqual([
      { id: 'n1', durationSeconds: 60, rate: 12.5, billable: true },
    ]);
    expect(await files.error('x.json', text.replace('12.50', '1,5'))).toMatch(
      /^line 2: the cell of rate .*<1,5>/,
    );
    expect(await files.error('x.json', '{"rows":{}}')).toContain('expected an array of objects');
    expect(await files.error('x.json', `${text}[]`)).toContain('text after the end of the array');
  });
});
