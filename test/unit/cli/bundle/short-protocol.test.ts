import { describe, expect, it } from 'vitest';
import { usedBy } from '../../../support/short-protocol.mjs';

const type = (...types: string[]) => ({
  fields: Object.fromEntries(types.map((one, n) => [`f${n}`, { type: one, id: n + 1 }])),
});

describe('the protocol of the bundle', () => {
  it('has the calls and the types that code uses, with all that these contain', () => {
    const call = (name: string) => ({ requestType: `${name}Request`, responseType: 'Answer' });
    const protocol = {
      nested: {
        temporal: {
          nested: {
            api: {
              nested: {
                a: {
                  nested: {
                    Service: {
                      methods: {
                        ListAll: call('List'),
                        Other: call('Other'),
                        PollActivityExecution: call('Other'),
                      },
                    },
                    ListRequest: type('string', 'b.Inner'),
                    OtherRequest: type('Unused'),
                    Answer: { ...type('string'), nested: { Part: type('bool') } },
                    Unused: type('string'),
                  },
                },
                b: {
                  nested: {
                    Inner: type('Inner', 'Kind'),
                    Kind: { values: { ONE: 1 } },
                    Named: type('bytes'),
                  },
                },
                c: { nested: { Unused: type('string') } },
              },
            },
          },
        },
      },
    };
    const code =
      'await this.aService.listAll({}); aService.pollActivityExecution(); temporal.api.b.Named.decode(x)';
    const { a, b, ...others } = usedBy(code, protocol).nested.temporal.nested.api.nested;
    expect(others).toEqual({});
    expect(Object.keys(a.nested)).toEqual(['Service', 'ListRequest', 'Answer']);
    expect(a.nested.Service.methods).toEqual({ ListAll: call('List') });
    expect(Object.keys(b.nested)).toEqual(['Inner', 'Kind', 'Named']);
  });
});
