import { describe, expect, it } from 'vitest';
import { differenceLines } from '../../../src/cli/write-back/batch-lines.js';
import { observeWriteBack } from '../../../src/core/alerts/observations.js';
import { toByteString } from '../../../src/core/brands.js';
import { NO_DIFFERENCES, noRows } from '../../../src/core/contract/write-back.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import {
  type ChunkLog,
  loggedReceipt,
  mergeLogs,
  type RowReceipt,
} from '../../../src/write-back/plan-file.js';
import {
  DifferenceCounter,
  differencesOf,
  differencesText,
  hiddenFields,
} from '../../../src/write-back/record-differences.js';
import { judgeResponse } from '../../../src/write-back/write-request.js';

const ROW = {
  pair: null,
  body: '{"projectId":"P7","billable":true,"durationSeconds":5400,"startedAt":"2026-11-20T08:00:00Z","note":"n"}',
};
const OPTIONS = { ignore: [] as string[], isHidden: (_: string) => false, redact: (text: string) => text };

/** What a 201 with this body says other than the row, with the rule for ids. */
function found(
  body: string,
  row: Parameters<typeof differencesOf>[0] = ROW,
  options = OPTIONS,
  idField = 'id',
) {
  const facts = {
    status: 201,
    headers: {},
    location: null,
    url: 'http://x/',
    message: () => null,
    shown: OPTIONS.redact,
  };
  const resource = row.pair === null ? ('time-entries' as const) : ('calendar-entries' as const);
  const rule = { idField, success: 'record' as const };
  const verdict = judgeResponse(toByteString(body), facts, { resource, rule, row });
  if (verdict.kind !== 'record' || verdict.record === null) return null;
  return differencesOf(row, verdict.record, options);
}

const RECORD =
  '{"id":"r1","projectId":null,"billable":true,"durationSeconds":5400.0,"startedAt":"2026-11-20T07:00:00Z"}';

describe('the differences between a row and its record', () => {
  it.each([
    ['bare', RECORD, 'id'],
    ['in an envelope with an id of its own', `{"id":"q","data":${RECORD}}`, 'id'],
    ['at a pointer', `{"meta":{"projectId":"P7"},"entry":${RECORD}}`, '/entry/id'],
    ['at a pointer whose first part is an envelope', `{"data":${RECORD}}`, '/data/id'],
  ])('are found in a record that is %s', (_, body, idField) => {
    expect(found(body, ROW, OPTIONS, idField)).toEqual({
      differs: [
        { field: 'projectId', sent: '"P7"', shown: 'null' },
        { field: 'startedAt', sent: '"2026-11-20T08:00:00Z"', shown: '"2026-11-20T07:00:00Z"' },
      ],
      absent: ['note'],
    });
  });

  it('are none if the record says what was sent, and unknown if the response shows no record', () => {
    expect(found(ROW.body.replace('{', '{"id":"r1","more":[1],'))).toBeNull();
    expect(found('Created')).toBeNull();
  });

  it('leave out the times that the service sets itself', () => {
    const times = (year: number) =>
      `"createdAt":"${year}-01-01T00:00:00Z","updatedAt":"${year}-01-02T00:00:00Z"`;
    const row = { pair: null, body: `{"title":"a",${times(2025)}}` };
    expect(found(`{"id":"r1","title":"a",${times(2026)}}`, row)).toBeNull();
  });

  it('leave ignored fields out', () => {
    const options = { ...OPTIONS, ignore: ['startedAt', 'note'] };
    expect(found(RECORD, ROW, options)?.differs.map(({ field }) => field)).toEqual(['projectId']);
    expect(found(RECORD, ROW, options)?.absent).toEqual([]);
  });

  it('include the pair of an upsert, which can be in the path alone', () => {
    const row = { pair: ['cal', 'k/1'] as const, body: '{"title":"t"}' };
    const shown = found('{"id":"1","source":"cal","sourceKey":"k-1","title":" t "}', row);
    expect(shown?.differs).toEqual([{ field: 'sourceKey', sent: '"k/1"', shown: '"k-1"' }]);
  });

  it('show no value of a masked field or of one that is not mirrored, and redact the others', () => {
    const csv = { separator: '.' };
    const columns = {
      include: null,
      exclude: ['billable'],
      mask: { projectId: 'hash', 'owner.name': 'redact' },
    };
    const settings = { resources: [{ name: 'time-entries', csv, columns }] } as unknown as ConnectionSettings;
    const isHidden = hiddenFields(settings, 'time-entries');
    expect(['projectId', 'owner', 'billable', 'note', 'ownership'].filter(isHidden)).toEqual([
      ...['projectId', 'owner', 'billable'],
    ]);
    const redact = (text: string) => text.replace('07:00', '[redacted]');
    expect(found(RECORD, ROW, { ...OPTIONS, isHidden, redact })?.differs).toEqual([
      { field: 'projectId', sent: '[masked]', shown: '[masked]' },
      { field: 'startedAt', sent: '"2026-11-20T08:00:00Z"', shown: '"2026-11-20T[redacted]:00Z"' },
    ]);
  });

  it('shorten long values', () => {
    const row = { pair: null, body: `{"note":"${'x'.repeat(5000)}"}` };
    const [difference] = found(`{"id":1,"note":"${'y'.repeat(5000)}"}`, row)!.differs;
    expect([difference!.sent.length, difference!.shown.length]).toEqual([100, 100]);
  });

  it('survive the log of a row', () => {
    const receipt: RowReceipt = {
      ...{ outcome: 'created', status: 201, id: 'r1', message: null },
      found: found(RECORD)!,
    };
    const at = { temporal: 1, worker: 1, store: null };
    const log: ChunkLog = { run: 'r', at, accepted: 1, closed: true, rows: [loggedReceipt(0, receipt)] };
    const [state] = mergeLogs([JSON.parse(JSON.stringify(log))], 1).values();
    expect(state?.receipt).toEqual(receipt);
    expect(differencesText(receipt.found)).toBe(
      'projectId differs (sent "P7", the service shows null); ' +
        'startedAt differs (sent "2026-11-20T08:00:00Z", the service shows "2026-11-20T07:00:00Z")',
    );
  });

  it('are counted by field, and shown with values only on request', () => {
    const counter = new DifferenceCounter();
    for (let row = 1; row <= 5; row++) counter.add(row, found(RECORD)!);
    counter.add(6, undefined);
    const counts = { ...noRows(), created: 6 };
    const result = { counts, ...NO_DIFFERENCES, ...counter.counts };
    expect(differenceLines(result, [])).toEqual([
      'warning: projectId differs in 5 of 6 rows',
      'warning: startedAt differs in 5 of 6 rows',
      "Not in the service's responses, so not compared: note (5 rows)",
    ]);
    expect(differenceLines(result, counter.examples)[0]).toBe(
      'warning: projectId differs in 5 of 6 rows (sent "P7", the service shows null)',
    );
    expect(JSON.stringify(counter.counts)).not.toContain('P7');
  });

  it('are in the alert of the batch, without values', () => {
    const batch = { resource: 'time-entries', batchId: 'b', rejected: 0, unknown: 0, unsent: 0, error: null };
    const { problems } = observeWriteBack({ ...batch, differs: [{ field: 'projectId', rows: 5 }] });
    expect(problems).toMatchObject([
      { kind: 'rows-not-written', text: 'batch b: projectId differs in 5 rows', mark: 'b 0 0 0 projectId' },
    ]);
    expect(observeWriteBack(batch).problems).toEqual([]);
  });
});
