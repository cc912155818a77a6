import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate and its key, in PEM. */
export interface Certificate {
  readonly crt: string;
  readonly key: string;
}

/** A certificate authority that issues certificates for this machine, with the command `openssl`. */
export interface Authority extends Certificate {
  /** @param name of the subject, which can be a host @param days of validity; a negative number: expired */
  issue(name: string, days?: number): Certificate;
}

/** Creates a certificate authority. */
export function createAuthority(name: string): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-ca-'));
  const file = (end: string): string => join(folder, end);
  const read = (end: string): string => readFileSync(file(end), 'utf8');
  const openssl = (...args: string[]): void =>
    void execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    openssl(
      ...['req', '-x509', ...key, '-days', '30', '-subj', `/CN=${name}`],
      ...['-keyout', file('ca.key'), '-out', file('ca.crt')],
    );
    const authority = { crt: read('ca.crt'), key: read('ca.key') };
    return { ...authority, issue: (subject, days) => issue(authority, subject, days) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function issue(authority: Certificate, name: string, days = 30): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-cert-'));
  const file = (end: string): string => join(folder, end);
  try {
    writeFileSync(file('ca.crt'), authority.crt);
    writeFileSync(file('ca.key'), authority.key);
    writeFileSync(file('index.txt'), '');
    writeFileSync(
      file('ca.cnf'),
      `[ca]
default_ca = one
[one]
database = ${file('index.txt')}
new_certs_dir = ${folder}
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
`,
    );
    const openssl = (...args: string[]): void =>
      void execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    openssl(
      ...['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', `/CN=${name}`],
      ...['-addext', `subjectAltName=IP:127.0.0.1,DNS:localhost${isHost(name) ? `,DNS:${name}` : ''}`],
      ...['-keyout', file('key'), '-out', file('csr')],
    );
    openssl(
      ...['ca', '-batch', '-config', file('ca.cnf'), '-cert', file('ca.crt'), '-keyfile', file('ca.key')],
      ...['-startdate', asn1(Math.min(-1, days - 1)), '-enddate', asn1(days)],
      ...['-in', file('csr'), '-out', file('crt'), '-notext'],
    );
    return { crt: readFileSync(file('crt'), 'utf8'), key: readFileSync(file('key'), 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const isHost = (name: string): boolean => /^[\w-]+(\.[\w-]+)+$/.test(name);

/** `YYYYMMDDHHMMSSZ`, some days from now. */
function asn1(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().replace(/[-:T]|\.\d+/g, '');
}
