import { describe, expect, it } from 'vitest';
import { toByteString } from '../../../src/core/brands.js';
import { JsonError } from '../../../src/json/json-error.js';
import { JsonScanner } from '../../../src/json/scanner.js';

const BODY = String.raw`{"a":[1.5e3,-0,true,false,null],"b":"x\"yö","c":{"d":" \\ "},"e":[]}`;

function problemOf(text: string): unknown {
  const scanner = new JsonScanner(toByteString(text));
  try {
    scanner.peek();
    scanner.skip();
    scanner.end();
    return null;
  } catch (error) {
    return error;
  }
}

describe('a JSON text', () => {
  it('is known as cut wherever it ends too early', () => {
    for (let end = 0; end < BODY.length; end++) {
      const found = problemOf(BODY.slice(0, end));
      expect(found, BODY.slice(0, end)).toBeInstanceOf(JsonError);
      expect(found, BODY.slice(0, end)).toMatchObject({ isCut: true });
    }
    expect(problemOf(BODY)).toBeNull();
  });

  it.each(['{"a":1 2}', '[1,]', '{"a" 1}', String.raw`["\x"]`, String.raw`["\u12g4"]`, '[1] 2'])(
    'is not known as cut if more text could not complete it: %s',
    (text) => {
      expect(problemOf(text)).toMatchObject({ isCut: false });
    },
  );
});
