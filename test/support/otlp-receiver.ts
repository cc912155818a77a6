import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A span as a collector gets it; times are left out. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of the process that sent it, such as `service.name`. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A collector of OpenTelemetry on loopback, for traces in JSON. */
export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** What came, as it came. */
  readonly bodies: readonly string[];
  readonly headers: readonly IncomingHttpHeaders[];
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface TracesRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Pick<ReceivedSpan, 'name' | 'traceId' | 'spanId' | 'parentSpanId'> & {
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = (await buffer(request)).toString('utf8');
    if (request.url !== '/v1/traces') return void response.writeHead(404).end();
    bodies.push(body);
    headers.push(request.headers);
    spans.push(...spansOf(JSON.parse(body) as TracesRequest));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  };
  const server = createServer((request, response) => {
    // A sender that was killed leaves a part of a request.
    receive(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    headers,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function spansOf({ resourceSpans }: TracesRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map(({ name, traceId, spanId, parentSpanId, attributes }) => ({
        ...{ name, traceId, spanId, parentSpanId },
        attributes: plain(attributes),
        resource: plain(resource.attributes),
      })),
    ),
  );
}

function plain(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
