import { describe, expect, it } from 'vitest';
import { readFields, readItems, writeFields } from '../../../src/simulator/data/raw-json.js';
import { call, start } from './support.js';

describe('seeded data', () => {
  it('is the same for the same seed and different for another', async () => {
    const text = async (seed: number): Promise<string> =>
      (await start({ seed })).admin.records('time-entries').join('\n');
    expect(await text(5)).toBe(await text(5));
    expect(await text(5)).not.toBe(await text(6));
  });

  it('serves the awkward literals byte for byte', async () => {
    const simulator = await start({ awkwardEvery: 2 });
    const body = await (await call(simulator, 'time-entries?limit=1000')).text();
    const literals = [
      ':9007199254740993',
      ':12.50',
      ':1e21',
      ':-0',
      ':0.1',
      String.raw`\ud800`,
      String.raw`\u0000`,
    ];
    for (const literal of [...literals, '"__proto__":', '"constructor":', '"":', '"_run_id":', '"Status":']) {
      expect(body).toContain(literal);
    }
    expect(body).toContain(simulator.admin.records('time-entries').join(','));
    expect(body.match(/onlyInTheLastRecord/g)).toHaveLength(1);
  });

  it('has 350 to 480 bytes and 15 fields in a plain time entry, and no awkward rows if turned off', async () => {
    const texts = (await start({ awkward: false })).admin.records('time-entries');
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / texts.length;
    expect(bytes).toBeGreaterThan(350);
    expect(bytes).toBeLessThan(480);
    expect(texts.every((text) => Object.keys(JSON.parse(text) as object).length === 15)).toBe(true);
  });

  it('is valid JSON on one line in every awkward row', async () => {
    const { admin } = await start({ awkwardEvery: 1, counts: { members: 60 } });
    for (const resource of [
      'projects',
      'tasks',
      'time-entries',
      'calendar-entries',
      'members',
      'clients',
      'tags',
    ]) {
      for (const text of admin.records(resource)) {
        expect(() => JSON.parse(text)).not.toThrow();
        expect(text).not.toMatch(/[\r\n]/);
      }
    }
  });

  it('keeps the number literals of a changed record', async () => {
    const simulator = await start();
    const id = simulator.admin.create('tasks', '{"big":9007199254740993,"price":12.50,"zero":-0}');
    simulator.admin.update('tasks', id, { title: 'x' });
    const text = simulator.admin.records('tasks').find((one) => one.includes(id));
    expect(text).toContain('"big":9007199254740993,"price":12.50,"zero":-0');
    expect(text).toContain('"title":"x"');
  });
});

describe('the raw JSON reader', () => {
  it('splits nested values, escapes and white space without changing them', () => {
    const text = ' { "a" : 1.50 , "b":{"x":[1,{"y":"},\\""}]} ,"\\u0063:,":"q\\\\" , "":null }\n';
    expect(readFields(text)).toEqual([
      ['a', '1.50'],
      ['b', '{"x":[1,{"y":"},\\""}]}'],
      ['c:,', '"q\\\\"'],
      ['', 'null'],
    ]);
    expect(JSON.parse(writeFields(readFields(text)))).toEqual(JSON.parse(text));
    expect(readItems('[1e21, {"a":[1,2]}, "]"]')).toEqual(['1e21', '{"a":[1,2]}', '"]"']);
    expect(readItems('[]')).toEqual([]);
    expect(readFields('{}')).toEqual([]);
  });
});
