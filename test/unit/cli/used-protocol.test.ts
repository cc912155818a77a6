import { describe, expect, it } from 'vitest';
import { usedProtocol } from '../../support/used-protocol.mjs';

const text = (id: number) => ({ type: 'string', id });

const PROTOCOL = {
  nested: {
    api: {
      nested: {
        Service: {
          methods: {
            ListThings: { requestType: 'ListRequest', responseType: 'ListAnswer' },
            DropThings: { requestType: 'DropRequest', responseType: 'DropAnswer' },
          },
        },
        ListRequest: { fields: { query: text(1) } },
        ListAnswer: { fields: { things: { rule: 'repeated', type: 'Thing', id: 1 } } },
        Thing: {
          fields: {
            byName: { keyType: 'string', type: 'Outer.Inner', id: 1 },
            kind: { type: 'Kind', id: 2 },
          },
        },
        Outer: {
          fields: { other: { type: 'Other', id: 1 } },
          nested: { Inner: { fields: {} }, Unused: { fields: {} } },
        },
        Other: { fields: {} },
        Kind: { values: { A: 0 } },
        DropRequest: { fields: {} },
        DropAnswer: { fields: {} },
        Failure: { fields: { kind: { type: 'Kind', id: 1 } } },
      },
    },
    worker: { nested: { Task: { fields: {} } } },
  },
};

/** The names of all definitions, and those of the calls. */
function namesIn(code: string): string[] {
  const names = ({ nested = {}, methods = {} }: object & { nested?: object; methods?: object }): string[] => [
    ...Object.keys(methods),
    ...Object.entries(nested).flatMap(([name, one]) => [name, ...names(one)]),
  ];
  return names(usedProtocol(PROTOCOL, code)).sort();
}

describe('usedProtocol', () => {
  it('keeps the calls that the code makes with the types of their requests and answers', () => {
    expect(namesIn('proto.api.Service; service.listThings({})')).toEqual(
      [
        ...['api', 'Service', 'ListThings', 'ListRequest', 'ListAnswer'],
        ...['Thing', 'Outer', 'Inner', 'Other', 'Kind'],
      ].sort(),
    );
  });

  it('keeps a service without calls, because the client makes an object for it', () => {
    expect(namesIn('proto.api.Service')).toEqual(['Service', 'api']);
  });

  it('keeps the types in the code, also those of members', () => {
    expect(namesIn('proto.api.Failure.decode(bytes)')).toEqual(['Failure', 'Kind', 'api']);
    expect(namesIn('x = api.Kind.A')).toEqual(['Kind', 'api']);
  });

  it('leaves out what is only in a text, and what only ends like a name', () => {
    for (const code of ['"api.Failure"', "'worker.Task'", '`api.Kind`', 'myapi.Failure', 'things()'])
      expect(namesIn(code), code).toEqual([]);
  });

  it('changes no definition that it keeps', () => {
    const kept = usedProtocol(PROTOCOL, 'proto.api.Service; service.listThings({})');
    expect(PROTOCOL).toMatchObject(kept);
    expect(kept.nested).toMatchObject({ api: { nested: { Thing: PROTOCOL.nested.api.nested.Thing } } });
  });
});
