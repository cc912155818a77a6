import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A write that the service has received. */
export interface Write {
  /** From 1, in the order of arrival. */
  readonly number: number;
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | null;
  readonly body: Readonly<Record<string, unknown>>;
  readonly authorization: string | null;
}

/** The number of a row of `timeEntriesCsv` in its file, from 1, for files of at most 1,000 rows that begin at a multiple of 1,000. */
export const rowOf = ({ body }: Pick<Write, 'body'>): number =>
  (Number(/\d+/.exec(String(body.description))![0]) % 1000) + 1;

/** A response that is sent as it is. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Whether the service writes the record before it answers. Default: false. */
  readonly writes?: boolean;
}

/** A record that the service has written. */
export interface ServiceRecord {
  /** Counts from 1 in each organization. */
  readonly id: string;
  readonly organization: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** `drop`: written, but the connection breaks; `reset`: not written, and the connection breaks. */
type Special = 'drop' | 'reset';

/** What a write gets instead of the usual response; `null`: the usual one. */
export type Respond = (write: Write) => Answer | Special | null | Promise<Answer | Special | null>;

/**
 * A service for writes, independent of the simulator. It keeps its own records: each accepted write is one, unless its
 * idempotency key was used within `retentionMs`. It does not know how the connector decides.
 */
export class RowService {
  readonly writes: Write[] = [];
  readonly records: ServiceRecord[] = [];
  /** How long a key is remembered. */
  retentionMs = Number.POSITIVE_INFINITY;
  respond: Respond = () => null;
  /** Whether the key may read lists. */
  isReadable: () => boolean = () => true;
  /** The organization of an API key; `null`: the service does not know the key. */
  organizationOf: (apiKey: string) => string | null = () => 'one';
  /** What a record keeps of a request. */
  keeps: (body: Write['body']) => Write['body'] = (body) => body;
  /** What of the records can be read; the list without them is empty. */
  shows: 'nothing' | 'records' | 'list' = 'nothing';
  /** The paths that were read. */
  readonly reads: string[] = [];
  readonly #keys = new Map<string, { readonly at: number; readonly record: ServiceRecord }>();
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });

  static async start(): Promise<RowService> {
    const service = new RowService();
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', () => resolve()));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { authorization = '' } = request.headers;
    const organization = this.organizationOf(authorization.replace('Bearer ', ''));
    if (request.method === 'GET') {
      if (organization === null || !this.isReadable()) send(response, UNKNOWN_KEY);
      else send(response, this.#read(request.url ?? '', organization));
      return;
    }
    const header = request.headers['idempotency-key'];
    const write: Write = {
      number: this.writes.length + 1,
      method: request.method ?? '',
      path: request.url ?? '',
      idempotencyKey: typeof header === 'string' ? header : null,
      body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>,
      authorization: request.headers.authorization ?? null,
    };
    this.writes.push(write);
    if (organization === null) return send(response, UNKNOWN_KEY);
    const answer = await this.respond(write);
    if (answer === 'reset') return void response.destroy();
    if (answer !== null && answer !== 'drop') {
      if (answer.writes === true) this.#write(write, organization);
      send(response, answer);
      return;
    }
    const { id, body } = this.#write(write, organization);
    if (answer === 'drop') response.destroy();
    else send(response, { status: 201, body: JSON.stringify({ id, ...body }) });
  }

  #read(url: string, organization: string): Answer {
    this.reads.push(url);
    const id = /^\/api\/public\/v2\/[^/]+\/([^/?]+)$/.exec(url)?.[1];
    const own = this.records.filter((record) => record.organization === organization);
    if (this.shows === 'records' && id !== undefined) {
      const found = own.find((record) => record.id === id);
      return found === undefined ? { status: 404 } : { status: 200, body: JSON.stringify(shown(found)) };
    }
    const data = this.shows === 'list' ? own.map(shown) : [];
    return { status: 200, body: JSON.stringify({ data, page: { limit: 1000, nextCursor: null } }) };
  }

  #write({ idempotencyKey, body }: Write, organization: string): ServiceRecord {
    const key = idempotencyKey === null ? null : `${organization} ${idempotencyKey}`;
    const known = key === null ? undefined : this.#keys.get(key);
    if (known !== undefined && Date.now() - known.at <= this.retentionMs) return known.record;
    const isOther = this.records.at(-1)?.organization !== organization;
    const own = isOther ? this.records.filter((one) => one.organization === organization) : this.records;
    const record = { id: `r${own.length + 1}`, organization, body: this.keeps(body) };
    this.records.push(record);
    if (key !== null) this.#keys.set(key, { at: Date.now(), record });
    return record;
  }
}

const UNKNOWN_KEY: Answer = { status: 401, body: '{"message":"Unknown key."}' };

function shown({ id, body }: ServiceRecord): object {
  return { id, ...body, updatedAt: '2026-11-21T02:00:00Z' };
}

function send(response: ServerResponse, { status, headers = {}, body = '' }: Answer): void {
  response.writeHead(status, {
    ...(body.length > 0 ? { 'content-type': 'application/json' } : {}),
    ...(status === 204 || status === 304 ? {} : { 'content-length': Buffer.byteLength(body) }),
    ...headers,
  });
  response.end(body);
}
