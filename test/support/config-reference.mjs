// The table in docs/reference/configuration.md, made from the JSON Schema. `npm run reference` writes it; a test
// compares the committed text.
const BEGIN = '<!-- configuration: made by `npm run reference`, do not edit -->';
const END = '<!-- end of configuration -->';

/**
 * One row for each key that the file may have: key, kind of value and default, meaning. Keys that both resources of
 * `writeBack` have are shown once. A section without a default of its own has no row.
 */
export function configReference(schema) {
  const connection = schema.properties.connections.additionalProperties;
  const rows = rowsOf(connection, '').filter(
    ({ isSection, meaning }) => !isSection || /Default:|\]\(/.test(meaning),
  );
  const keys = new Set(rows.map(({ key }) => key));
  const shown = rows.flatMap((row) => {
    const twin = row.key.replace('.calendar-entries.', '.time-entries.');
    if (twin !== row.key && keys.has(twin)) return [];
    const isShared = keys.has(row.key.replace('.time-entries.', '.calendar-entries.'));
    return [
      isShared ? { ...row, key: row.key.replace('writeBack.time-entries.', 'writeBack.<resource>.') } : row,
    ];
  });
  return ['| key | value | meaning |', '|---|---|---|', ...shown.map(toLine)].join('\n');
}

/** The page with the table between its marks. */
export function withReference(page, reference) {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`the page must have the lines ${BEGIN} and ${END}`);
  return `${page.slice(0, from)}${BEGIN}\n\n${reference}\n\n${page.slice(to)}`;
}

function rowsOf(schema, prefix) {
  return Object.entries(schema.properties).flatMap(([name, of]) => {
    const key = `${prefix}${name}`;
    const required = schema.required?.includes(name) ?? false;
    const inner = mapOf(of);
    const own = {
      ...{ key, value: kindOf(of), standard: standardOf(of, required), meaning: of.description },
      isSection: inner !== undefined && key !== 'resources[].csv',
    };
    // A section says no more than its keys do, unless something is said of it.
    const rows = inner !== undefined && of.description === undefined ? [] : [own];
    if (inner === undefined || key === 'resources[].csv') return rows;
    return [...rows, ...rowsOf(inner, of.type === 'array' ? `${key}[].` : `${key}.`)];
  });
}

/** The map with known keys that a value is, may be, or is a list of. */
function mapOf(schema) {
  const candidates = [
    schema,
    ...(schema.anyOf ?? []),
    ...(schema.items ? [schema.items, ...(schema.items.anyOf ?? [])] : []),
  ];
  return candidates.find((one) => one.properties !== undefined);
}

function kindOf(schema) {
  if (schema.title !== undefined) return schema.title;
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(kindOf))].join(' or ');
  if (schema.type === 'boolean') return '`true`, `false`';
  if (schema.type === 'integer') {
    const { minimum, maximum } = schema;
    return maximum === Number.MAX_SAFE_INTEGER ? 'whole number' : `whole number, ${minimum} to ${maximum}`;
  }
  if (schema.type === 'array') return `list of: ${kindOf(schema.items)}`;
  if (schema.properties !== undefined) return 'map';
  if (schema.type === 'object') return `map of: ${kindOf(schema.additionalProperties)}`;
  if (schema.type === 'string') return 'text';
  throw new Error(`no words for ${JSON.stringify(schema)}`);
}

function standardOf(schema, required) {
  if (required) return 'required';
  const { default: standard } = schema;
  // The defaults of a section are those of its keys.
  if (standard === undefined || (mapOf(schema) !== undefined && schema.type !== 'array')) return '';
  return code(standard);
}

/** As the file may have it. */
function code(value) {
  if (typeof value === 'string' && value !== '' && !/^[\s,*"]|\s$/.test(value)) return `\`${value}\``;
  if (Array.isArray(value)) return `\`[${value.join(', ')}]\``;
  if (typeof value !== 'object' || value === null) return `\`${JSON.stringify(value)}\``;
  const pairs = Object.entries(value).map(([key, one]) => `${key}: ${one}`);
  return pairs.length === 0 ? '`{}`' : `\`{ ${pairs.join(', ')} }\``;
}

function toLine({ key, value, standard, meaning }) {
  if (meaning === undefined) throw new Error(`${key} has no description in src/core/schema`);
  const end = standard === '' ? '' : standard === 'required' ? '; required' : `; default ${standard}`;
  return `| \`${key}\` | ${value}${end} | ${meaning} |`;
}
