import type { Call } from '../http/call.js';
import { isListRequest, type OddService } from './odd-service.js';

/** Services that redirect. */
export const ODD_REDIRECTS: readonly OddService[] = [
  {
    name: 'redirect-slash',
    description: 'redirects each list to the same path with a slash, without the query',
    create: () => ({
      request: withoutSlash,
      reply: (reply, call) =>
        isListRequest(call) && !call.path.endsWith('/')
          ? { status: 301, headers: { location: `${call.path}/` }, body: Buffer.alloc(0) }
          : reply,
    }),
  },
  {
    name: 'redirect-elsewhere',
    description: 'redirects each list to another host',
    create: () => ({
      reply: (reply, call) =>
        isListRequest(call)
          ? { status: 302, headers: { location: 'https://login.example/?next=tasks' }, body: Buffer.alloc(0) }
          : reply,
    }),
  },
];

/** The list without the slash at the end of its path. */
function withoutSlash(call: Call): Call {
  const { path, segments } = call;
  if (!path.endsWith('/') || segments?.length !== 1 || segments[0] !== '') return call;
  return { ...call, path: path.slice(0, -1), segments: [] };
}
