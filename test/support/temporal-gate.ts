import { once } from 'node:events';
import {
  connect,
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Certificate } from './certificates.js';

/** The status of a gRPC call that the gate refuses. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

export interface TemporalGateOptions {
  /** Address of a Temporal server without TLS. */
  readonly target: string;
  readonly certificate: Certificate;
  /** The authority of the certificates that clients must show. Default: none is needed. */
  readonly clientAuthority?: string;
  /** Refuses calls. */
  readonly refuse?: (path: string, headers: IncomingHttpHeaders) => Refusal | null;
}

/** Temporal behind a proxy that terminates TLS, as in Temporal Cloud. */
export interface TemporalGate {
  readonly address: string;
  /** Accepts other clients, or shows another certificate, from now on; the current connections end. */
  change(options: Partial<Omit<TemporalGateOptions, 'target'>>): void;
  close(): Promise<void>;
}

/** Starts a gate in front of a Temporal server. */
export async function startTemporalGate(first: TemporalGateOptions): Promise<TemporalGate> {
  let options = first;
  const upstream = connect(`http://${first.target}`);
  const sessions = new Set<ServerHttp2Session>();
  const server = createSecureServer({
    ...secureContext(options),
    requestCert: first.clientAuthority !== undefined,
    rejectUnauthorized: first.clientAuthority !== undefined,
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.on('error', () => {});
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    const refusal = options.refuse?.(String(headers[':path']), headers) ?? null;
    if (refusal === null) forward(stream, headers);
    else refuse(stream, refusal);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  function forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const { ':authority': _, ...others } = headers;
    const call = upstream.request(others);
    call.on('error', () => stream.close());
    stream.once('close', () => call.close());
    call.once('response', (answer) => {
      if (stream.destroyed) return;
      // An error has only trailers, which come as headers.
      if (answer['grpc-status'] !== undefined) {
        stream.respond(answer, { endStream: true });
        return;
      }
      stream.respond(answer, { waitForTrailers: true });
      let trailers = {};
      call.once('trailers', (found) => {
        trailers = { ...found };
      });
      stream.once('wantTrailers', () => stream.sendTrailers(trailers));
      call.pipe(stream);
    });
    stream.pipe(call);
  }

  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    change(changed) {
      options = { ...options, ...changed };
      server.setSecureContext(secureContext(options));
      for (const session of sessions) session.destroy();
    },
    async close() {
      for (const session of sessions) session.destroy();
      upstream.destroy();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

function secureContext({ certificate, clientAuthority }: TemporalGateOptions) {
  return {
    cert: certificate.crt,
    key: certificate.key,
    ...(clientAuthority === undefined ? {} : { ca: clientAuthority }),
  };
}

/** A gRPC answer that has only trailers. */
function refuse(stream: ServerHttp2Stream, { status, message }: Refusal): void {
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc',
      'grpc-status': String(status),
      'grpc-message': message,
    },
    { endStream: true },
  );
}
