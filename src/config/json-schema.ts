import { z } from 'zod';
import { configFile } from './schema.js';

/**
 * A JSON Schema (draft 2020-12) of the configuration file for editors, made from the schema that checks it. Rules
 * that need two places at once are not in it.
 */
export function configJsonSchema(): object {
  return { title: 'worktrack.yaml', ...z.toJSONSchema(configFile, { io: 'input' }) };
}
