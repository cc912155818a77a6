// The usage lines and tables of options in docs/reference/commands.md, made from the command line's own definitions.
// `npm run reference` writes them; a test compares the committed text.

const BLOCK = /<!-- options: ([\w-]+) -->\n[\s\S]*?<!-- end of options -->/g;

/** The options that are described once for all commands, and the command whose words are theirs. */
const COMMON = [
  ['status', ['--resource', '--all', '--failing', '--details', '--json']],
  ['export', ['--allow-deletes', '--timeout', '--no-wait']],
  ['cat', ['--dt']],
];

/** The page with a table of arguments and options between each pair of marks. @param program the commander program */
export function withOptions(page, program) {
  const common = commonOf(program);
  return page.replace(BLOCK, (_, name) => {
    const table =
      name === 'global'
        ? tableOf(program.options.map(rowOf))
        : name === 'common'
          ? tableOf(common)
          : commandTables(program, name, common);
    return `<!-- options: ${name} -->\n${table}\n<!-- end of options -->`;
  });
}

/** The names in the marks, in their order. */
export function namesOfOptions(page) {
  return [...page.matchAll(BLOCK)].map(([, name]) => name).filter((name) => name !== 'common');
}

function commonOf(program) {
  const model = (name) => program.commands.find((one) => one.name() === name);
  return [
    ...model('status').registeredArguments.map(argumentRow),
    ...COMMON.flatMap(([name, longs]) =>
      longs.map((long) => rowOf(model(name).options.find((option) => option.long === long))),
    ),
  ];
}

function commandTables(program, name, common) {
  const command = program.commands.find((one) => one.name() === name);
  if (command === undefined) throw new Error(`docs/reference/commands.md: there is no command ${name}`);
  const isGroup = command.commands.length > 0 && command.registeredArguments.length === 0;
  const all = [
    ...(isGroup ? [] : [[`worktrack ${name}`, command]]),
    ...command.commands.map((one) => [`worktrack ${name} ${one.name()}`, one]),
  ];
  // Commands of a group that differ only in their names have one section.
  const sections = new Map();
  for (const [words, one] of all) {
    const { usage, rest } = sectionOf(words, one, common);
    sections.set(rest, [...(sections.get(rest) ?? []), usage]);
  }
  return [...sections].map(([rest, usages]) => `Usage: ${usages.join(', ')}.${rest}`).join('\n\n');
}

/** The usage; and the common options that the command accepts, with a table of all others. */
function sectionOf(words, command, common) {
  const rows = [...command.registeredArguments.map(argumentRow), ...command.options.map(rowOf)];
  const isCommon = (row) => common.some((one) => one.name === row.name && one.meaning === row.meaning);
  const accepted = rows.filter(isCommon).map(({ name }) => `\`${name.split(' ')[0]}\``);
  const shared = accepted.length === 0 ? '' : ` Common: ${accepted.join(', ')}.`;
  const own = rows.filter((row) => !isCommon(row));
  const rest = own.length === 0 ? shared : `${shared}\n\n${tableOf(own)}`;
  return { usage: `\`${words} ${command.usage()}\``, rest };
}

function tableOf(rows) {
  const lines = rows.map(({ name, meaning }) => `| \`${escaped(name)}\` | ${escaped(meaning)} |`);
  return ['| option | meaning |', '|---|---|', ...lines].join('\n');
}

function argumentRow(one) {
  return { name: one.name(), meaning: one.description };
}

function rowOf({ flags, description, argChoices, defaultValue }) {
  const choices = argChoices === undefined ? '' : `: ${argChoices.map((one) => `\`${one}\``).join(', ')}`;
  const standard =
    defaultValue === undefined || defaultValue === true ? '' : ` (default: \`${defaultValue}\`)`;
  return { name: flags, meaning: `${description}${choices}${standard}` };
}

function escaped(text) {
  return text.replaceAll('|', '\\|');
}
