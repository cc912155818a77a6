import { type Document, isMap, isScalar, isSeq, type Node, parseDocument, stringify, YAMLMap } from 'yaml';
import { InvalidArgumentError } from '../core/errors.js';
import { SECRET_ALLOWED } from '../core/schema/secret-ref.js';
import { itemName } from '../core/schema/values.js';
import { parseSettings } from './load.js';

/** A configuration file as text, and its name for messages. */
export interface ConfigText {
  readonly text: string;
  readonly source: string;
}

/**
 * The value at a path of a configuration file, as YAML; `undefined` if the file does not set it.
 *
 * @param path keys with dots between them, such as `connections.acme.sync.overlap`. An item of a list is found by its position, from 0,
 *   or by its name: `connections.acme.resources.tasks`. A key with a dot is in double quotes
 */
export function getInConfig({ text }: Pick<ConfigText, 'text'>, path: string): string | undefined {
  const { found, rest } = follow(parse(text), readConfigPath(path));
  if (rest.length > 0 || found === null) return undefined;
  return isScalar(found) ? String(found.value) : stringify(found, OUTPUT).trimEnd();
}

/**
 * The text of a configuration file with another value at a path. Comments and the order of keys stay; blanks may change.
 *
 * @param value as YAML, such as `10m`, `[projects, tasks]` or `{ file: /run/secrets/worktrack }`
 * @throws SettingsError if the result is no valid configuration; InvalidArgumentError for a path that leads nowhere, and for a secret
 */
export function setInConfig(config: ConfigText, path: string, value: string): string {
  const doc = parse(config.text);
  const { place, rest, parent } = follow(doc, readConfigPath(path));
  const added = doc.createNode(parseDocument(value, { stringKeys: true }).toJS());
  if (parent !== null && isScalar(parent.node) && isSeq(doc.getIn(parent.place.slice(0, -1), true)))
    // A resource that is only a name gets further keys.
    doc.setIn(parent.place, doc.createNode({ name: parent.node.value }));
  else if (parent !== null && !isMap(parent.node))
    throw new InvalidArgumentError(
      'path',
      `leads into ${JSON.stringify(rest[0] ?? '')}, which is no map or list`,
    );
  const before = plainSecrets(doc);
  doc.setIn([...place, ...rest], added);
  const secret = plainSecrets(doc).find((one) => !before.includes(one));
  if (secret !== undefined)
    throw new InvalidArgumentError(
      'value',
      `would put a secret into the file (not repeated here); put it into an environment variable or a file and write ${SECRET_ALLOWED}`,
    );
  return checked(config, doc);
}

/** Headers whose value is usually a secret. */
const SECRET_HEADER = /auth|key|token|secret|passw|cookie|signature|credential/i;

/** Texts where a text and a reference to a secret are both valid, and the text is probably a secret, each with its place. */
function plainSecrets(doc: Document): string[] {
  const { connections, defaults } = asMap(doc.toJS());
  return [defaults, ...Object.values(asMap(connections))].map(asMap).flatMap(({ notify, http }, at) => {
    const urls = [notify].flat().map((target) => asMap(target).url);
    const headers = Object.entries(asMap(asMap(http).headers)).filter(([name]) => SECRET_HEADER.test(name));
    const texts = [...urls, ...headers.map(([, text]) => text)].filter((text) => typeof text === 'string');
    return texts.map((text) => `${at} ${text}`);
  });
}

function asMap(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

/** The settings of a connection that the command line gives. */
export interface NewConnection {
  readonly baseUrl: string;
  readonly lake: Readonly<Record<string, string | boolean>>;
  readonly apiKey: { readonly env: string };
  readonly resources?: readonly string[] | undefined;
}

/**
 * The text of a configuration file with one more connection, after the others.
 *
 * @throws InvalidArgumentError if there is one of this name; SettingsError if the result is no valid configuration
 */
export function addToConfig(config: ConfigText, name: string, { resources, ...rest }: NewConnection): string {
  const doc = parse(config.text);
  if (doc.hasIn(['connections', name]))
    throw new InvalidArgumentError('name', `${JSON.stringify(name)} is a connection already`);
  doc.setIn(['connections', name], doc.createNode({ ...rest, ...(resources && { resources }) }));
  return checked(config, doc);
}

const OUTPUT = { lineWidth: 0 } as const;

function parse(text: string): Document {
  const doc = parseDocument(text, { merge: true, stringKeys: true, logLevel: 'error' });
  doc.contents ??= new YAMLMap() as unknown as typeof doc.contents;
  return doc;
}

function checked({ source }: ConfigText, doc: Document): string {
  const text = doc.toString(OUTPUT);
  parseSettings(text, source);
  return text;
}

/** The keys of a path. @throws InvalidArgumentError */
export function readConfigPath(path: string): string[] {
  const parts = path.match(/"[^"]*"|[^."]+/g) ?? [];
  const again = parts.join('.');
  if (again !== path || path === '')
    throw new InvalidArgumentError(
      'path',
      `must be keys with dots between them, such as connections.acme.sync.overlap; found ${JSON.stringify(path)}`,
    );
  return parts.map((part) => part.replaceAll('"', ''));
}

interface Followed {
  /** The node at the end of `place`. */
  readonly found: Node | null;
  /** Keys and positions of nodes that exist. */
  readonly place: (string | number)[];
  /** Keys that do not exist yet. */
  readonly rest: string[];
  /** The node that gets the first key of `rest`; `null` if all exist. */
  readonly parent: { readonly node: Node | null; readonly place: (string | number)[] } | null;
}

function follow(doc: Document, parts: readonly string[]): Followed {
  let node = doc.contents as Node | null;
  const place: (string | number)[] = [];
  for (const [at, part] of parts.entries()) {
    const next = childOf(node, part);
    if (next === null) return { found: node, place, rest: parts.slice(at), parent: { node, place } };
    place.push(next.key);
    node = next.node;
  }
  return { found: node, place, rest: [], parent: null };
}

function childOf(node: Node | null, part: string): { key: string | number; node: Node | null } | null {
  if (isMap(node))
    return node.has(part) ? { key: part, node: (node.get(part, true) ?? null) as Node | null } : null;
  if (!isSeq(node)) return null;
  const names = node.items.map((item) => itemName(isMap(item) || isScalar(item) ? item.toJSON() : item));
  const byName = names.indexOf(part);
  const key = byName >= 0 ? byName : /^\d{1,6}$/.test(part) ? Number(part) : -1;
  return key >= 0 && key < node.items.length ? { key, node: node.items[key] as Node } : null;
}
