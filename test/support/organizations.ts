import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A record of an organization. Its `id` also exists in the other organizations. */
export interface OrganizationRecord {
  readonly id: string;
  readonly title: string;
  readonly amount: number;
  readonly status: string;
  readonly done: boolean;
  readonly updatedAt: string;
}

/** A request as the service has got it: what a test may decide on, and count. */
export interface Seen {
  readonly organization: string;
  readonly key: string;
  readonly url: string;
}

/**
 * A service whose key decides whose records are shown. No response names the organization. All lists and ids are
 * the same in all organizations: ids count from 1, and most values that few records share differ.
 */
export class OrganizationsService {
  readonly seen: Seen[] = [];
  /** Called before each request is answered. */
  onRequest: (seen: Seen) => void = () => {};
  now = Date.parse('2026-11-21T02:00:00Z');
  readonly #records = new Map<string, Map<string, OrganizationRecord>>();
  readonly #server: Server;

  /** @param keys the organization of each API key */
  private constructor(
    readonly keys: ReadonlyMap<string, string>,
    readonly pageSize: number,
  ) {
    this.#server = createServer((request, response) => {
      const key = (request.headers.authorization ?? '').replace('Bearer ', '');
      const organization = this.keys.get(key);
      const url = request.url ?? '';
      response.setHeader('date', new Date(this.now).toUTCString());
      if (organization === undefined)
        return void send(response, 401, { message: 'The API key is not known.' });
      const seen = { organization, key, url };
      this.seen.push(seen);
      this.onRequest(seen);
      this.#answer(new URL(url, 'http://service'), organization, response);
    });
  }

  static async start(
    keys: ReadonlyMap<string, string>,
    { rows, pageSize }: { readonly rows: Readonly<Record<string, number>>; readonly pageSize: number },
  ): Promise<OrganizationsService> {
    const service = new OrganizationsService(keys, pageSize);
    for (const [organization, count] of Object.entries(rows))
      for (let id = 1; id <= count; id++) service.write(organization, String(id));
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Creates or changes a record. */
  write(organization: string, id: string): void {
    const records = this.#records.get(organization) ?? new Map<string, OrganizationRecord>();
    this.#records.set(organization, records);
    const amount = (Number(id) * (organization.charCodeAt(0) - 60)) % 997;
    const status = ['open', 'in review', 'closed'][(Number(id) + organization.charCodeAt(0)) % 3]!;
    const updatedAt = new Date(this.now).toISOString();
    const version = Number(records.get(id)?.title.split(' v')[1] ?? 0) + 1;
    const title = `${organization} ${id} v${version}`;
    records.set(id, { id, title, amount, status, done: false, updatedAt });
  }

  records(organization: string): ReadonlyMap<string, OrganizationRecord> {
    return this.#records.get(organization) ?? new Map();
  }

  #answer(url: URL, organization: string, response: ServerResponse): void {
    const [, id] = url.pathname.replace('/api/public/v2/', '').split('/');
    const all = this.records(organization);
    if (id !== undefined) {
      const found = all.get(decodeURIComponent(id));
      return void (found === undefined
        ? send(response, 404, { message: 'Not found' })
        : send(response, 200, found));
    }
    const query = url.searchParams;
    const since = Date.parse(query.get('updatedSince') ?? '1970-01-01T00:00:00Z');
    const after = Number(query.get('cursor') ?? 0);
    const limit = Math.min(Number(query.get('limit') ?? 100), this.pageSize);
    const rest = [...all.values()].filter(
      (record) => Number(record.id) > after && Date.parse(record.updatedAt) >= since,
    );
    const data = rest.sort((a, b) => Number(a.id) - Number(b.id)).slice(0, limit);
    const nextCursor = rest.length > limit ? data.at(-1)!.id : null;
    send(response, 200, { data, page: { limit, nextCursor } });
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.setHeader('content-type', 'application/json');
  response.writeHead(status);
  response.end(JSON.stringify(body));
}
