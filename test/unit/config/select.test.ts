import { describe, expect, it } from 'vitest';
import { parseSettings, selectConnection, selectResources } from '../../../src/config/index.js';
import { connectionOf, withLines } from './fixtures.js';

const one = parseSettings(withLines(''), 'one.yaml');
const two = parseSettings(
  `${withLines('')}  beta: { baseUrl: "https://b.example", apiKey: { env: K }, lake: { url: s3://other } }\n`,
  'two.yaml',
);

describe('choosing a connection', () => {
  it('selects the only connection if none is named', () => {
    expect(selectConnection(one).name).toBe('acme');
    expect(selectConnection(two, 'beta').name).toBe('beta');
  });

  it('requires a name if there are several, and lists them', () => {
    expect(() => selectConnection(two)).toThrow('two.yaml has 2 connections: acme, beta');
  });

  it('lists the names and suggests the most similar one if the name is unknown', () => {
    expect(() => selectConnection(two, 'betta')).toThrow('it has acme, beta. Did you mean "beta"?');
    expect(() => selectConnection(one, 'zzz')).toThrow('has no connection "zzz"; it has acme.');
  });
});

describe('choosing resources', () => {
  const connection = connectionOf(withLines(''));
  const names = (wanted?: string[]) => selectResources(connection, wanted).map((resource) => resource.name);

  it('selects all if none is named', () => {
    expect(names()).toHaveLength(4);
    expect(names([])).toHaveLength(4);
  });

  it('selects each once, in the order of the file', () => {
    expect(names(['tasks', 'projects', 'tasks'])).toEqual(['projects', 'tasks']);
  });

  it('lists the unknown and the known names', () => {
    expect(() => names(['x', 'tasks', 'y'])).toThrow(
      'no resource "x", "y"; it has projects, tasks, time-entries, calendar-entries.',
    );
    expect(() => names(['time_entries'])).toThrow('Did you mean "time-entries"?');
  });
});
