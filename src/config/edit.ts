import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  type Scalar,
  stringify,
  visit,
  YAMLMap,
} from 'yaml';
import { InvalidArgumentError } from '../core/errors.js';
import { DEFAULT_RESOURCES } from '../core/schema/schema-resource.js';
import { SECRET_ALLOWED } from '../core/schema/secret-ref.js';
import { get, itemName } from '../core/schema/values.js';
import { readDocument } from './document.js';
import { parseSettings } from './load.js';
import { SettingsError } from './problems.js';
import { withSettings } from './yaml-to-write.js';

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
 * @throws SettingsError if the file is not valid YAML
 */
export function getInConfig(config: ConfigText, path: string): string | undefined {
  const doc = parse(config);
  const { found, rest } = follow(doc, readConfigPath(path));
  if (rest.length > 0 || found === null) return undefined;
  const value: unknown = found.toJS(doc);
  if (typeof value !== 'object' || value === null) return String(value);
  // An alias is shown as what it stands for.
  return stringify(aliasesIn(found).length > 0 ? value : found, OUTPUT).trimEnd();
}

/**
 * The text of a configuration file with another value at a path. Comments and the order of keys stay; blanks may change.
 *
 * @param path as for `getInConfig`, or its keys
 * @param value as YAML, such as `10m`, `[projects, tasks]` or `{ file: /run/secrets/worktrack }`
 * @throws SettingsError if the file is not valid YAML, or the result no valid configuration; InvalidArgumentError for a path that leads
 *   nowhere, a value that is not YAML, a value that other places of the file use (`&anchor`), and for a secret
 */
export function setInConfig(config: ConfigText, path: string | readonly string[], value: string): string {
  const doc = parse(config);
  const { place, found, rest, parent } = follow(doc, typeof path === 'string' ? readConfigPath(path) : path);
  const added = doc.createNode(readValue(value));
  if (rest.length === 0) takeNotes(doc, found, added);
  if (parent !== null && isScalar(parent.node) && isSeq(doc.getIn(parent.place.slice(0, -1), true)))
    nameOnly(doc, parent.place, parent.node);
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

/** @throws InvalidArgumentError for a text that is not YAML. It is not repeated, because it may be a secret. */
function readValue(text: string): unknown {
  // YAML gives these characters a meaning that no setting has, so that `*/15 * * * *` would be an alias.
  if (/^\s*[*@`%]/.test(text)) return text;
  const doc = parseDocument(text, { stringKeys: true, logLevel: 'error' });
  const isAlias = aliasesIn(doc).length > 0;
  if (doc.errors.length === 0 && !isAlias) return doc.toJS();
  throw new InvalidArgumentError('value', 'is not YAML. Put a text in double quotes');
}

/** A resource that is only a name gets further keys. */
function nameOnly(doc: Document, place: readonly (string | number)[], name: Scalar): void {
  const item = doc.createNode({ name: name.value });
  takeNotes(doc, name, item);
  doc.setIn(place, item);
}

/**
 * Moves comments, the anchor and the style of a node to the one that replaces it.
 *
 * @throws InvalidArgumentError if other places of the file use a value in it
 */
function takeNotes(doc: Document, old: Node | null, added: Node): void {
  if (old === null) return;
  const used = usedElsewhere(doc, old);
  if (used !== undefined)
    throw new InvalidArgumentError(
      'path',
      `leads to a value that other places of the file use (&${used}). Change the file in an editor`,
    );
  const { comment, commentBefore, spaceBefore } = old;
  Object.assign(added, { comment, commentBefore, spaceBefore });
  if ((isScalar(old) || isCollection(old)) && old.anchor !== undefined)
    Object.assign(added, { anchor: old.anchor });
  if (isCollection(old) && isCollection(added) && old.flow === true) added.flow = true;
}

/** The first anchor in a node that an alias outside of it uses. */
function usedElsewhere(doc: Document, node: Node): string | undefined {
  const inside = aliasesIn(node);
  const all = aliasesIn(doc);
  const count = (names: readonly string[], name: string): number =>
    names.filter((one) => one === name).length;
  return anchorsIn(node).find((name) => count(all, name) > count(inside, name));
}

function anchorsIn(node: Node): string[] {
  const found: string[] = [];
  visit(node, {
    Value: (_, { anchor }) => {
      if (anchor !== undefined) found.push(anchor);
    },
  });
  return found;
}

function aliasesIn(node: Node | Document): string[] {
  const found: string[] = [];
  visit(node, {
    Alias: (_, { source }) => {
      found.push(source);
    },
  });
  return found;
}

/** Headers whose value is usually a secret. */
const SECRET_HEADER = /auth|key|token|secret|passw|cookie|signature|credential/i;

/** Texts where a text and a reference to a secret are both valid, and the text is probably a secret, each with its place. */
function plainSecrets(doc: Document): string[] {
  const { connections, defaults } = asMap(doc.toJS());
  return [defaults, ...Object.values(asMap(connections))].map(asMap).flatMap(({ notify, http }, at) => {
    const urls = [notify].flat().map((target) => {
      const { url, format } = asMap(target);
      return typeof url === 'string' && isSecretUrl(url, format) ? url : null;
    });
    const headers = Object.entries(asMap(asMap(http).headers)).filter(([name]) => SECRET_HEADER.test(name));
    const texts = [...urls, ...headers.map(([, text]) => text)].filter((text) => typeof text === 'string');
    return texts.map((text) => `${at} ${text}`);
  });
}

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i;
/** A shorter word with digits may be chosen by a person, such as the name of a server. */
const TOKEN_CHARS = 16;

/** Whether who has the URL of an alert could send messages there, as with the vendors of chats. */
function isSecretUrl(text: string, format: unknown): boolean {
  if (format === 'slack' || format === 'teams') return true;
  const { search = '', pathname = '' } = URL.canParse(text) ? new URL(text) : {};
  const words = pathname.split(/[^a-z\d]/i);
  const hasToken = words.some((word) => word.length >= TOKEN_CHARS && /\d/.test(word) && /[a-z]/i.test(word));
  return search !== '' || UUID.test(pathname) || hasToken;
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
  /** The field that dates the window of a list, by resource. Default: none. */
  readonly windowFields?: Readonly<Record<string, string>> | undefined;
}

/**
 * The text of a configuration file with one more connection, after the others.
 *
 * @throws InvalidArgumentError if there is one of this name; SettingsError if the result is no valid configuration
 */
export function addToConfig(config: ConfigText, name: string, added: NewConnection): string {
  const { resources, windowFields = {}, ...rest } = added;
  const doc = parse(config);
  if (doc.hasIn(['connections', name]))
    throw new InvalidArgumentError('name', `${JSON.stringify(name)} is a connection already`);
  const fields = Object.entries(windowFields).map(([list, windowField]) => [list, { windowField }]);
  // A connection's own list replaces that of the defaults.
  const inherited: unknown = get(doc.toJS(), 'defaults', 'resources') ?? DEFAULT_RESOURCES;
  const list =
    fields.length === 0 ? resources : withSettings(resources ?? inherited, Object.fromEntries(fields));
  doc.setIn(
    ['connections', name],
    doc.createNode({ ...rest, ...(list === undefined ? {} : { resources: list }) }),
  );
  return checked(config, doc);
}

const OUTPUT = { lineWidth: 0 } as const;

/** @throws SettingsError if it is not valid YAML */
function parse({ text, source }: ConfigText): Document {
  // It lists what is wrong.
  if (readDocument(text).problems.length > 0) parseSettings(text, source);
  const doc = parseDocument(text, { merge: true, stringKeys: true, logLevel: 'error' });
  doc.contents ??= new YAMLMap() as unknown as typeof doc.contents;
  return doc;
}

function checked({ source }: ConfigText, doc: Document): string {
  const isJson = source.endsWith('.json');
  const text = isJson ? `${JSON.stringify(doc.toJS(), null, 2)}\n` : doc.toString(OUTPUT);
  try {
    parseSettings(text, source);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    // The lines are those of the new text, which is not written.
    const problems = error.problems.map((problem) => ({ ...problem, line: null, column: null }));
    throw new SettingsError(source, problems, 'proposed');
  }
  return text;
}

/** The keys of a path. @throws InvalidArgumentError */
function readConfigPath(path: string): string[] {
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
