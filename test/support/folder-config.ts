import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Stack } from './stack.js';

/**
 * Writes the stack's configuration with the bucket's folder on disk as the lake: for readers that have no S3, such as a
 * DuckDB without extensions.
 *
 * @returns the path of the file
 */
export async function writeFolderConfig(stack: Stack): Promise<string> {
  const file = join(stack.folder, 'folder.yaml');
  const yaml = await readFile(stack.configFile, 'utf8');
  const lake = `lake: { url: "${pathToFileURL(stack.lakeFolder).href}" }`;
  await writeFile(file, yaml.replace(/lake: \{.*\}/, lake));
  return file;
}
