import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A record of the service; `date` places it in the list's window. Times are milliseconds since 1970. */
export interface ServiceRecord {
  readonly id: string;
  date: number;
  updatedAt: number;
  /** Whether the API key may not see it, although it exists. */
  hidden: boolean;
  /** Whether the service has lost its id: it lists the record without one. */
  keyless?: boolean;
  /** Whether it says that it is deleted. */
  deleted?: boolean;
  /** Whether it is in no list, although GET by id shows it. */
  archived?: boolean;
}

/** How the service answers GET by id. */
export const ENDPOINTS = {
  none: 'the path does not exist: 404 for every id',
  exact: 'the record, or 404',
  'gone-410': 'the record, or 410',
  wrapped: 'the record below "data", or 404',
  forbidden: '403 for every id',
  'forbidden-page': '403 and a web page for every id',
  'forbidden-words': '403 for every id, in words like those of a limit',
  'forbidden-record': 'the record, 403 for one that the key may not see, or 404',
  anything: '200 and an empty object for every id',
  'start-page': '200 and a web page for every id',
  'redirect-missing': 'the record, or a redirect to another host',
  'other-record': '200 and some other record for every id',
} as const;

export type Endpoint = keyof typeof ENDPOINTS;

/** What a test decides about the service. */
export interface ServiceRules {
  /** The service's clock. */
  now: number;
  /** Length of the list's window, ms; `null` for none. */
  windowMs: number | null;
  /** The JSON text of a record's date. */
  dateText: (record: ServiceRecord) => string;
  endpoint: Endpoint;
  /** Whether the key may list: without, the list is empty with 200, as some services answer. */
  mayList: boolean;
  /** Number of requests by id until the endpoint is gone, as while a new version of a service is installed. */
  byIdUntil?: number;
  /** Paths that a proxy or a router answers with 404, such as those with an encoded slash, as web servers do by default. */
  refuses?: RegExp;
  /** The record that the next page of the whole list does not show, as while a list shifts. */
  missesOnce?: string;
  /** Whether an empty list is answered with 204, or so by a proxy. */
  noContent?: boolean;
  pageSize: number;
  /** Whether each cursor is accepted only once. */
  cursorsOnce?: boolean;
  /** What a record shows that says that it is deleted: all of it, or its key and the mark. Default: all. */
  marks?: 'full' | 'short';
  /** Whether lists have no record that says that it is deleted. */
  hidesDeleted?: boolean;
  /** Answers a page of the list in another way. It gets the page that the service would send. */
  answer?: (page: ListPage) => ListAnswer;
}

/** A page of the list as the service would send it; `of`: how many records the whole list has, and `at`: where the page begins. */
export interface ListPage {
  readonly records: readonly string[];
  readonly next: string | null;
  readonly limit: number;
  readonly isIncrement: boolean;
  readonly of: number;
  readonly at: number;
}

/** `body` is the JSON text of the whole envelope. */
export interface ListAnswer {
  readonly body: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The envelope of a page. @param more members of the envelope, and of `page`, as JSON text that begins with a comma */
export function envelope({ records, next, limit }: ListPage, more = '', inPage = ''): string {
  return `{"data":[${records.join(',')}],"page":{"limit":${limit},"nextCursor":${JSON.stringify(next)}${inPage}}${more}}`;
}

/** A small service with one list, whose records are the truth that a test compares a mirror with. */
export class ListService {
  readonly records = new Map<string, ServiceRecord>();
  requests: string[] = [];
  readonly #used = new Set<string>();
  readonly #server: Server;

  private constructor(public rules: ServiceRules) {
    this.#server = createServer((request, response) => {
      this.requests.push(request.url ?? '');
      const url = new URL(request.url ?? '', 'http://service');
      const [name, id] = url.pathname.replace('/api/public/v2/', '').split('/');
      response.setHeader('date', new Date(this.rules.now).toUTCString());
      if (name !== 'entries') sendText(response, 404, '{"message":"No such list"}');
      else if (this.rules.refuses?.test(url.pathname) === true)
        sendText(response, 404, '<html><h1>Not Found</h1></html>');
      else if (id === undefined) this.#list(url.searchParams, response);
      else this.#byId(decodeURIComponent(id), response);
    });
  }

  static async start(rules: ServiceRules): Promise<ListService> {
    const service = new ListService(rules);
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Whether the list shows the record now. */
  lists(record: ServiceRecord): boolean {
    const { now, windowMs, mayList } = this.rules;
    const inWindow = windowMs === null || (record.date >= now - windowMs && record.date <= now);
    const isShown =
      record.archived !== true && !(record.deleted === true && this.rules.hidesDeleted === true);
    return mayList && !record.hidden && isShown && inWindow;
  }

  textOf(record: ServiceRecord): string {
    const { updatedAt } = record;
    const id = record.keyless === true ? 'null' : `"${record.id}"`;
    const mark = record.deleted === true ? ',"deleted":true' : '';
    if (mark !== '' && this.rules.marks === 'short') return `{"id":${id}${mark}}`;
    return `{"id":${id},"day":${this.rules.dateText(record)},"updatedAt":"${new Date(updatedAt).toISOString()}"${mark}}`;
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const since = Date.parse(query.get('updatedSince') ?? '1970-01-01T00:00:00Z');
    const after = query.get('cursor') ?? '';
    if (this.rules.cursorsOnce === true && this.#used.has(after))
      return void sendText(response, 400, '{"message":"This cursor has been used"}');
    if (after !== '') this.#used.add(after);
    const limit = Math.min(Number(query.get('limit') ?? 100), this.rules.pageSize);
    const all = [...this.records.values()]
      .filter((record) => this.lists(record) && record.updatedAt >= since)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const rest = all.filter(({ id }) => id > after);
    const page = rest.slice(0, limit);
    const next = rest.length > limit ? page.at(-1)!.id : null;
    if (page.length === 0 && this.rules.noContent === true) return void response.writeHead(204).end();
    const asked: ListPage = {
      ...{ records: page.map((record) => this.textOf(record)), next, limit },
      ...{ isIncrement: query.has('updatedSince'), of: all.length, at: all.length - rest.length },
    };
    const { status = 200, headers = {}, body } = this.rules.answer?.(asked) ?? { body: envelope(asked) };
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    sendText(response, status, body);
  }

  #byId(id: string, response: ServerResponse): void {
    const { endpoint } = this.rules;
    const isGone = this.rules.byIdUntil !== undefined && this.rules.byIdUntil-- <= 0;
    const [status, body] = answerOf(isGone ? 'none' : endpoint, this.records.get(id), this);
    if (status === 302) response.setHeader('location', 'https://app.example/login?next=secret');
    if (body === START_PAGE) response.setHeader('content-type', 'text/html');
    sendText(response, status, body);
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

/** As nginx writes it. */
const FORBIDDEN_PAGE = '<html><head><title>403 Forbidden</title></head><body><h1>403</h1></body></html>';
const START_PAGE = '<!doctype html><title>Tracker</title><p>Welcome</p>';

function answerOf(
  endpoint: Endpoint,
  record: ServiceRecord | undefined,
  service: ListService,
): [status: number, body: string] {
  const missing: [number, string] = [endpoint === 'gone-410' ? 410 : 404, '{"message":"No such record"}'];
  if (endpoint === 'none') return missing;
  if (endpoint === 'forbidden') return [403, '{"message":"This key may not read single entries"}'];
  if (endpoint === 'forbidden-page') return [403, FORBIDDEN_PAGE];
  if (endpoint === 'forbidden-words') return [403, '{"message":"Limited to 2 calls per day in this plan"}'];
  if (endpoint === 'anything') return [200, '{}'];
  if (endpoint === 'start-page') return [200, START_PAGE];
  if (endpoint === 'other-record') return [200, '{"id":"someone-else","day":null}'];
  if (record === undefined && endpoint === 'redirect-missing') return [302, ''];
  if (record === undefined) return missing;
  if (record.hidden && endpoint === 'forbidden-record')
    return [403, '{"message":"This key may not read the record"}'];
  if (record.hidden || !service.rules.mayList) return missing;
  const text = service.textOf(record);
  return [200, endpoint === 'wrapped' ? `{"data":${text}}` : text];
}

function sendText(response: ServerResponse, status: number, text: string): void {
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json');
  response.writeHead(status);
  response.end(text);
}
