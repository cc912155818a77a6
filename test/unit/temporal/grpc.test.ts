import { NamespaceNotFoundError } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import {
  grpcMessage,
  isDenied,
  isNamespaceMissing,
  isRefusedPoll,
  isTooLate,
  isUnreachable,
  outageReason,
  statusCompleter,
} from '../../../src/temporal/client/grpc.js';

/** What the SDK's native client throws, and what it means. Recorded from SDK 1.24. */
const NATIVE: readonly (readonly [string, string])[] = [
  [
    'tonic::transport::Error(Transport, ConnectError(ConnectError("tcp connect error", 127.0.0.1:7233, Os { code: 111, kind: ConnectionRefused, message: "Connection refused" })))',
    'Connection refused',
  ],
  [
    'tonic::transport::Error(Transport, ConnectError(ConnectError("dns error", Custom { kind: Uncategorized, error: "failed to lookup address information: Name or service not known" })))',
    'failed to lookup address information: Name or service not known',
  ],
  [
    'tonic::transport::Error(Transport, ConnectError(Custom { kind: InvalidData, error: InvalidCertificate(ExpiredContext { time: UnixTime(1795665923), not_after: UnixTime(1795406723) }) }))',
    "the server's certificate has expired or is not valid yet",
  ],
  [
    'tonic::transport::Error(Transport, ConnectError(Custom { kind: InvalidData, error: InvalidCertificate(UnknownIssuer) }))',
    "the server's certificate is not issued by a known authority (TEMPORAL_TLS_SERVER_CA_CERT_PATH)",
  ],
  [
    'Failed to call GetSystemInfo: code: \'Unknown error\', message: "transport error", source: tonic::transport::Error(Transport, hyper::Error(Io, Custom { kind: InvalidData, error: "received fatal alert: CertificateRequired" }))',
    'the server ended the TLS handshake (CertificateRequired)',
  ],
  [
    'Failed to call GetSystemInfo: code: \'Unknown error\', message: "transport error", source: tonic::transport::Error(Transport, hyper::Error(Io, Kind(ConnectionReset)))',
    'the server closed the new connection, as it does if it rejects the client certificate or needs TLS',
  ],
  [
    'Failed to call GetSystemInfo: code: \'Unknown error\', message: "transport error", source: tonic::transport::Error(Transport, hyper::Error(Io, Custom { kind: UnexpectedEof, error: "peer closed connection without sending TLS close_notify: https://docs.rs/rustls" }))',
    'the server closed the new connection, as it does if it rejects the client certificate or needs TLS',
  ],
  [
    'Failed to call GetSystemInfo: code: \'The operation was cancelled\', message: "operation was canceled", source: tonic::transport::Error(Transport, hyper::Error(Canceled, "connection closed"))',
    'the server closed the new connection, as it does if it rejects the client certificate or needs TLS',
  ],
  [
    'tonic::transport::Error(Transport, InconsistentKeys(KeyMismatch))',
    'the client certificate and its key do not belong together',
  ],
  [
    'tonic::transport::Error(Transport, PrivateKeyParseError)',
    'the client certificate or its key is not valid PEM',
  ],
  ['something else', 'something else'],
];

describe('errors of gRPC', () => {
  it.each(NATIVE)('%s', (message, words) => {
    expect(grpcMessage(new Error(message))).toBe(words);
  });

  it('say that the server has no such namespace by what they are, and not by their text', () => {
    const status = (type: string): Error => {
      const details = Buffer.from(
        `\u0008\u0005Itype.googleapis.com/temporal.api.errordetails.v1.${type}\u0012`,
      );
      const metadata = { get: (name: string) => (name === 'grpc-status-details-bin' ? [details] : []) };
      return Object.assign(new Error('x'), { code: 5, details: 'x', metadata });
    };
    expect(isNamespaceMissing(status('NamespaceNotFoundFailure'))).toBe(true);
    expect(isNamespaceMissing(new Error('no', { cause: status('NamespaceNotFoundFailure') }))).toBe(true);
    expect(isNamespaceMissing(new NamespaceNotFoundError('team'))).toBe(true);
    expect(isNamespaceMissing(status('NotFoundFailure'))).toBe(false);
    expect(isNamespaceMissing(new Error('the namespace of this workflow was not found'))).toBe(false);
  });

  it('say that the server rejects the credentials, also as the native client puts it', () => {
    const connecting = (status: string): Error =>
      new Error(`Failed to call GetSystemInfo: code: '${status}', message: "no", source: None`);
    expect(isDenied(connecting('The request does not have valid authentication credentials'))).toBe(true);
    expect(
      isDenied(connecting('The caller does not have permission to execute the specified operation')),
    ).toBe(true);
    expect(isDenied(connecting('The service is currently unavailable'))).toBe(false);
    expect(grpcMessage(connecting('The service is currently unavailable'))).toBe('no');
  });

  it('have their text in the message if the details are empty, as in the native client', () => {
    const native = Object.assign(new Error('no write access'), { code: 7, details: '' });
    expect(grpcMessage(new Error('failed', { cause: native }))).toBe('no write access');
  });

  it('errors of a poll are refusals unless the poll only waited', () => {
    const poll = (code: number) => isRefusedPoll(Object.assign(new Error(), { code, details: '' }));
    expect([7, 16, 5].map(poll)).toEqual([true, true, true]);
    expect([1, 4, 8, 9, 12].map(poll)).toEqual([false, false, false, false, false]);
  });
});

describe('the status of a call', () => {
  const path = '/temporal.api.workflowservice.v1.WorkflowService/DescribeTaskQueue';
  const ended = (...statuses: readonly (readonly [code: number, details: string])[]) => {
    const complete = statusCompleter(path);
    const all = statuses.map(([code, details]) => ({ code, details }));
    for (const status of all) complete(status);
    return Object.assign(new Error('failed'), all.at(-1));
  };

  it('names the limit that refused all attempts until the deadline, and the method', () => {
    const limited = [8, 'namespace rate limit exceeded'] as const;
    const error = ended(limited, limited, [4, 'Deadline exceeded after 0.000s,waiting for metadata filters']);
    expect(outageReason(error)).toEqual({
      text: 'it limits requests: namespace rate limit exceeded (DescribeTaskQueue)',
      remedy: 'Wait, or raise the limit of the namespace.',
    });
  });

  it('names why the attempts before the deadline failed', () => {
    const error = ended(
      [14, 'no usable database connection'],
      [14, 'store operation failed'],
      [4, 'Deadline exceeded after 3.000s'],
    );
    expect(outageReason(error)).toBe('store operation failed');
    expect([isUnreachable(error), isTooLate(error)]).toEqual([true, true]);
  });

  it('names the method that was denied', () => {
    expect(grpcMessage(ended([7, 'Request unauthorized.']))).toBe(
      'Request unauthorized. (DescribeTaskQueue)',
    );
    expect(grpcMessage(ended([16, '']))).toBe('no reason given (DescribeTaskQueue)');
  });

  it.each([
    [4, 'Deadline exceeded'],
    [14, 'connect ECONNREFUSED'],
    [5, 'not found'],
  ] as const)('%d stays as it is', (code, details) => {
    expect(outageReason(ended([code, details]))).toBe(details);
  });
});
