import type { IncomingMessage, ServerResponse } from 'node:http';
import { readFields, readItems } from '../data/raw-json.js';
import type { FaultRule } from '../faults.js';
import { readBody } from '../http/call.js';
import { errorMessage, errorReply, jsonTextReply, Refusal, type Reply } from '../http/reply.js';
import type { ApiKey, TunableOptions } from '../simulator-options.js';
import type { RecordChoice, RecordScope, RecordsAdmin, SimulatorAdmin } from './admin.js';

const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Path prefix of the control endpoints. They need no API key and are not in the statistics. */
export const CONTROL_PATH = '/__control';

/** Handles one control request. Error responses are 400 or 404 with `{"message": ...}`. */
export async function handleControl(
  admin: SimulatorAdmin,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://control');
  const body = (await readBody(request, MAX_BODY_BYTES)) ?? Buffer.alloc(0);
  let reply: Reply;
  try {
    reply = route(admin, request.method ?? 'GET', url, body.toString('utf8'));
  } catch (error) {
    reply = errorReply(error instanceof Refusal ? error.status : 400, errorMessage(error));
  }
  response.writeHead(reply.status, { ...reply.headers, 'content-length': reply.body.length });
  response.end(reply.body);
}

function route(admin: SimulatorAdmin, method: string, url: URL, body: string): Reply {
  const [area = '', name] = url.pathname
    .slice(CONTROL_PATH.length + 1)
    .split('/')
    .map(decodeURIComponent);
  const organization = url.searchParams.get('organization');
  const records = organization === null ? admin : admin.organization(organization);
  const json = (value: unknown): Reply => jsonTextReply(200, JSON.stringify(value));
  switch (`${method} ${area}`) {
    case 'GET stats':
      return json(admin.stats());
    case 'DELETE stats':
      admin.resetStats();
      return json({});
    case 'GET faults':
      return json(admin.faults.list());
    case 'POST faults': {
      const rules = JSON.parse(body) as FaultRule | FaultRule[];
      return json({
        ids: (Array.isArray(rules) ? rules : [rules]).map((rule) => admin.faults.add(checked(rule))),
      });
    }
    case 'DELETE faults':
      if (name === undefined) admin.faults.clear();
      else if (!admin.faults.remove(name)) throw new Refusal(404, `There is no fault ${name}.`);
      return json({});
    case 'GET clock':
      return json({ now: admin.now() });
    case 'POST clock': {
      const { now, advance, run } = JSON.parse(body) as { now?: number; advance?: number; run?: boolean };
      if (now !== undefined) admin.setNow(now);
      if (advance !== undefined) admin.advance(advance);
      if (run === true) admin.runClock();
      return json({ now: admin.now() });
    }
    case 'POST options':
      admin.configure(JSON.parse(body) as Partial<TunableOptions>);
      return json({});
    case 'POST keys':
      admin.keys.add(JSON.parse(body) as ApiKey);
      return json({});
    case 'DELETE keys':
      admin.keys.revoke(name ?? '');
      return json({});
    case 'POST plans': {
      const change = JSON.parse(body) as { organization: string; plan: 'api' | 'none' };
      admin.keys.setPlan(change.organization, change.plan);
      return json({});
    }
    case 'GET records': {
      const scope = (url.searchParams.get('scope') ?? 'stored') as RecordScope;
      const text = records.records(name ?? '', scope).map((record) => `${record}\n`);
      return {
        status: 200,
        headers: { 'content-type': 'application/x-ndjson' },
        body: Buffer.from(text.join('')),
      };
    }
    case 'POST records':
      return json(changeRecords(records, name ?? '', body));
    default:
      throw new Refusal(404, `Unknown control request: ${method} ${area}.`);
  }
}

function checked(rule: FaultRule): FaultRule {
  if (typeof rule?.fault?.kind !== 'string')
    throw new TypeError('a fault rule requires {"fault": {"kind": ...}}');
  return rule;
}

/**
 * Applies the changes of one `POST /__control/records/<resource>` in the order of the body. Takes record fields from the
 * text of the body, so that number literals are preserved. Throws `TypeError` for an unknown change.
 */
function changeRecords(records: RecordsAdmin, resource: string, body: string): Record<string, unknown> {
  const done: Record<string, unknown> = {};
  for (const [change, text] of readFields(body)) {
    switch (change) {
      case 'create':
        done.create = readItems(text).map((fields) => records.create(resource, fields));
        break;
      case 'update':
        done.update = readFields(text).map(([id, fields]) => {
          records.update(resource, id, fields);
          return id;
        });
        break;
      case 'delete':
        records.remove(resource, JSON.parse(text) as string[]);
        break;
      case 'touch':
        done.touch = records.touch(resource, JSON.parse(text) as RecordChoice);
        break;
      case 'move': {
        const { ids, to } = JSON.parse(text) as { ids: string[]; to: number };
        records.move(resource, ids, to);
        break;
      }
      case 'addField': {
        const { name, ...choice } = JSON.parse(text) as { name: string } & RecordChoice;
        const value = new Map(readFields(text)).get('value') ?? 'null';
        done.addField = records.addField(resource, name, value, choice);
        break;
      }
      default:
        throw new TypeError(
          `unknown change ${change}; allowed: create, update, delete, touch, move, addField`,
        );
    }
  }
  return done;
}
