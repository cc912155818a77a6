import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** A policy of AWS IAM, as far as ours goes. */
export interface Policy {
  readonly Statement: readonly {
    readonly Effect: string;
    readonly Action: string | readonly string[];
    readonly Resource: string;
    readonly Condition?: { readonly StringLike?: { readonly 's3:prefix': string } };
  }[];
}

/** What one request needs the permission for. */
export interface Need {
  readonly action: string;
  readonly resource: string;
  /** Of a listing. */
  readonly prefix?: string;
}

/** Why a bucket policy denies a request; `null` if it does not. @param command such as `PutObject` */
export type Demand = (command: string, headers: IncomingHttpHeaders) => string | null;

export interface PolicyProxy {
  /** In place of the server's own URL. */
  readonly url: string;
  /** Until there is one, everything is allowed and nothing recorded. */
  enforce(policy: Policy): void;
  /** Rejects every request if `problem` returns a message, as a Deny statement of a bucket policy does. */
  demand(problem: Demand): void;
  /** Actions that requests needed and the policy allowed. */
  readonly used: ReadonlySet<string>;
  /** What was refused, `s3:ListBucket HEAD /bucket`. */
  readonly denied: readonly string[];
  close(): Promise<void>;
}

/** What a bucket policy says. */
export const DENIED =
  'User: arn:aws:iam::111122223333:user/worktrack is not authorized to perform: s3:PutObject on resource: "x" with an explicit deny in a resource-based policy';
/** Commands that make objects. */
export const CREATING = ['PutObject', 'CopyObject', 'CreateMultipartUpload'];

/** The keys of `lake` that meet `demandsAccount`. */
export const ACCOUNT_LAKE =
  'encryption: { kmsKey: alias/worktrack }, requesterPays: true, tags: { team: data }';

/** The policy of a bucket that requires a key of KMS, a tag, and that the requester pays; AWS rejects some headers elsewhere. */
export const demandsAccount: Demand = (command, headers) => {
  const key = headers['x-amz-server-side-encryption-aws-kms-key-id'];
  if (command === 'UploadPart' && key !== undefined) return 'UploadPart does not accept encryption';
  // The only request that has no such header.
  if (command === 'HeadBucket') return null;
  if (headers['x-amz-request-payer'] !== 'requester') return 'Access Denied';
  if (!CREATING.includes(command)) return null;
  const isEncrypted = headers['x-amz-server-side-encryption'] === 'aws:kms' && key === 'alias/worktrack';
  return isEncrypted && headers['x-amz-tagging'] === 'team=data' ? null : DENIED;
};

/** Whether a statement of the policy allows it. */
export function allows({ Statement }: Policy, { action, resource, prefix }: Need): boolean {
  return Statement.some(({ Effect, Action, Resource, Condition }) => {
    const wanted = Condition?.StringLike?.['s3:prefix'];
    return (
      Effect === 'Allow' &&
      [Action].flat().includes(action) &&
      isLike(resource, Resource) &&
      (wanted === undefined || (prefix !== undefined && isLike(prefix, wanted)))
    );
  });
}

/** `*` stands for anything. */
function isLike(text: string, pattern: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(text);
}

/**
 * The permissions that S3 asks for a request ("Actions, resources, and condition keys for Amazon S3").
 *
 * @throws Error for a request that the connector is not known to send
 */
export function needsOf(method: string, url: string, headers: IncomingHttpHeaders, body: Buffer): Need[] {
  const { pathname, searchParams: query } = new URL(url, 'http://s3');
  const [, bucket = '', ...rest] = decodeURIComponent(pathname).split('/');
  const key = rest.join('/');
  const ofBucket = `arn:aws:s3:::${bucket}`;
  const need = (action: string, at = key): Need => ({
    action: `s3:${action}`,
    resource: `${ofBucket}/${at}`,
  });
  if (key === '') {
    const prefix = query.get('prefix') ?? undefined;
    const list = { resource: ofBucket, ...(prefix === undefined ? {} : { prefix }) };
    if (method === 'HEAD') return [{ action: 's3:ListBucket', resource: ofBucket }];
    if (method === 'GET' && query.get('list-type') === '2') return [{ action: 's3:ListBucket', ...list }];
    if (method === 'GET' && query.has('uploads'))
      return [{ action: 's3:ListBucketMultipartUploads', ...list }];
    if (method === 'POST' && query.has('delete')) {
      const keys = [...body.toString('utf8').matchAll(/<Key>([^<]*)<\/Key>/g)];
      return keys.map((match) => need('DeleteObject', match[1]!));
    }
  } else if (
    method === 'PUT' &&
    !['tagging', 'acl', 'retention', 'legal-hold'].some((one) => query.has(one))
  ) {
    const { 'x-amz-copy-source': source, 'if-match': condition } = headers;
    const from = typeof source === 'string' ? decodeURIComponent(source).replace(/^\//, '') : null;
    return [
      need('PutObject'),
      ...(from === null ? [] : [{ action: 's3:GetObject', resource: `arn:aws:s3:::${from}` }]),
      ...(condition === undefined ? [] : [need('GetObject')]),
    ];
  } else if ((method === 'GET' || method === 'HEAD') && !query.has('uploadId') && !query.has('versionId')) {
    return [need('GetObject')];
  } else if (method === 'POST' && (query.has('uploads') || query.has('uploadId'))) {
    return [need('PutObject')];
  } else if (method === 'DELETE') {
    return [need(query.has('uploadId') ? 'AbortMultipartUpload' : 'DeleteObject')];
  }
  throw new Error(`no permission is known for ${method} ${url}`);
}

/**
 * A proxy in front of an S3 server that forwards only what a policy allows, as S3 does, and records it. A missing object
 * is a 404 only for clients that may list it; its key counts as the prefix.
 */
export async function startPolicyProxy(endpoint: string): Promise<PolicyProxy> {
  const { hostname, port } = new URL(endpoint);
  const used = new Set<string>();
  const denied: string[] = [];
  let policy: Policy | null = null;
  let demand: Demand = () => null;

  /** The first permission that is missing. */
  function missing(needs: readonly Need[]): Need | undefined {
    if (policy === null) return undefined;
    const lacks = needs.find((need) => !allows(policy!, need));
    if (lacks === undefined) for (const { action } of needs) used.add(action);
    return lacks;
  }

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = incoming;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const what = `${method} ${url}`;
    const needs = needsOf(method, url, incoming.headers, body);
    const problem = demand(commandOf(method, url, incoming.headers), incoming.headers);
    if (problem !== null) {
      denied.push(`${problem}: ${what}`);
      return refuse(method, outgoing, problem);
    }
    const lacks = missing(needs);
    if (lacks !== undefined) {
      denied.push(`${lacks.action} ${what}`);
      return refuse(method, outgoing);
    }
    const upstream = request({
      hostname,
      port,
      method,
      path: url,
      headers: incoming.rawHeaders.filter((_, at, all) => !isHopByHop(all[at - (at % 2)]!)),
      setHost: false,
      agent: false,
    });
    upstream.on('error', () => outgoing.destroy());
    upstream.on('response', (response) => {
      const [first] = needs;
      if (response.statusCode === 404 && first?.action === 's3:GetObject') {
        const [bucket = '', ...rest] = first.resource.split('/');
        const list = { action: 's3:ListBucket', resource: bucket, prefix: rest.join('/') };
        if (missing([list]) !== undefined) {
          denied.push(`${list.action} for the 404 of ${what}`);
          response.resume();
          return refuse(method, outgoing);
        }
      }
      outgoing.writeHead(response.statusCode ?? 502, response.rawHeaders);
      response.pipe(outgoing);
    });
    upstream.end(body);
  }

  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: unknown) => {
      denied.push(String(error));
      outgoing.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    used,
    denied,
    enforce(next) {
      policy = next;
      used.clear();
      denied.length = 0;
    },
    demand(problem) {
      demand = problem;
      denied.length = 0;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The proxy has answered `Expect: 100-continue` itself. */
function isHopByHop(name: string): boolean {
  return name.toLowerCase() === 'expect';
}

/** The S3 operation of a request, as far as a policy distinguishes them. */
function commandOf(method: string, url: string, headers: IncomingHttpHeaders): string {
  const { searchParams: query } = new URL(url, 'http://s3');
  if (method === 'POST') return query.has('uploads') ? 'CreateMultipartUpload' : 'Other';
  if (method === 'HEAD' && url.split('/').filter((part) => part !== '').length === 1) return 'HeadBucket';
  if (method !== 'PUT') return 'Other';
  if (query.has('partNumber')) return 'UploadPart';
  return headers['x-amz-copy-source'] === undefined ? 'PutObject' : 'CopyObject';
}

function refuse(method: string, outgoing: ServerResponse, message = 'Access Denied'): void {
  outgoing.writeHead(403, { 'content-type': 'application/xml', date: new Date().toUTCString() });
  const body = `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>${message}</Message></Error>`;
  outgoing.end(method === 'HEAD' ? undefined : body);
}
