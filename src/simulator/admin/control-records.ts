import { readFields, readItems } from '../data/raw-json.js';
import type { RecordChoice, RecordsAdmin } from './records-admin.js';

/**
 * Applies the changes of one `POST /__control/records/<resource>` in the order of the body. Takes record fields from the
 * text of the body, so that number literals are preserved. Throws `TypeError` for an unknown change.
 */
export function changeRecords(
  records: RecordsAdmin,
  resource: string,
  body: string,
): Record<string, unknown> {
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
