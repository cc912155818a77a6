import type { UploadChecksums } from './features.js';

interface Request {
  readonly headers: Record<string, string>;
}

interface Command {
  readonly middlewareStack: {
    add(
      middleware: (next: (args: never) => Promise<never>) => (args: { request: unknown }) => Promise<never>,
      options: { step: 'build'; priority: 'low'; name: string; override: true },
    ): void;
  };
}

/**
 * Removes the checksum headers that the SDK adds to a request by itself, for a store that accepts none. The middleware is after
 * the SDK has added them, and before the request is signed.
 */
export function withoutChecksums<C>(command: C, checksums: UploadChecksums): C {
  if (checksums !== 'none') return command;
  (command as unknown as Command).middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as Request;
      for (const name of Object.keys(headers))
        if (/^x-amz-(?:checksum-|sdk-checksum-)/.test(name.toLowerCase())) delete headers[name];
      return next(args as never);
    },
    { step: 'build', priority: 'low', name: 'worktrackWithoutChecksums', override: true },
  );
  return command;
}
