import { writeFileSync } from 'node:fs';
import { REPLACED_KEY } from '../../../src/simulator/simulator-options.js';
import type { OddCase } from './odd-case.js';

const refused = {
  exit: 3,
  rows: 'none',
  says: /tasks: GET .* answered 403 and says: Forbidden\. .*lack a grant/,
} as const;

const SHORT = '    sync: { pageSize: 10 }\n    retries: { giveUpAfter: 3s }\n';
const lasting = {
  exit: 3,
  rows: 'none',
  says: /answered 403 and says: Daily quota exceeded\. Its headers show a rate limit .*Otherwise the service refuses .*lack a grant/,
} as const;
const gateway = { exit: 3, rows: 'none', says: /answered 403.*challenge or block page/ } as const;
const challenged = {
  exit: 3,
  rows: 'none',
  says: /answered 403\. This is a challenge or block page .*Otherwise the service refuses .*lack a grant/,
} as const;

/** The words of the service, and no advice about the key. */
const forbidden = (words: string): Pick<OddCase, 'runs'> => {
  const alone = { exit: 3, rows: 'none', says: new RegExp(`answered 403 and says: ${words}$`) } as const;
  return { runs: [alone, alone, alone] };
};

/** The key that the service takes after the first complete list is in its file two seconds after the run begins. */
function replaceKey(_: unknown, run: 2 | 3, keyFile: string): void {
  if (run === 2) setTimeout(() => writeFileSync(keyFile, REPLACED_KEY), 2000);
}

export const LIMIT_CASES: readonly OddCase[] = [
  { odd: ['limit-429-reset-ms'], waits: true },
  { odd: ['limit-429-reset-seconds'], waits: true },
  { odd: ['gateway-header'], yaml: SHORT, runs: [gateway, gateway, gateway] },
  {
    odd: ['gateway-header'],
    title: 'with http.headers',
    yaml: '    sync: { pageSize: 10 }\n    http: { headers: { CF-Access-Client-Id: worktrack } }\n',
  },
  { odd: ['forbidden-address'], ...forbidden('Your IP address .* is not on the allow list .*\\.') },
  { odd: ['forbidden-sign-on'], ...forbidden('Single sign-on .*\\.') },
  { odd: ['forbidden-suspended'], ...forbidden('Your account is suspended\\. .*\\.') },
  { odd: ['forbidden-terms'], ...forbidden('You must accept .*\\.') },
  {
    odd: ['key-replaced'],
    hasKeyFile: true,
    change: replaceKey,
    runs: [{}, {}, {}],
  },
  { odd: ['limit-403-words'] },
  { odd: ['limit-402-quota'] },
  { odd: ['limit-403-retry-after'], waits: true },
  { odd: ['limit-401-retry-after'], waits: true },
  { odd: ['limit-403-headers'] },
  { odd: ['limit-420'] },
  { odd: ['challenge-page'] },
  { odd: ['limit-403-forever'], waits: true, yaml: SHORT, runs: [lasting, lasting, lasting] },
  { odd: ['challenge-forever'], yaml: SHORT, runs: [challenged, challenged, challenged] },
  { odd: ['plain-403'], runs: [refused, refused, refused] },
];
