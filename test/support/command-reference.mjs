// The tables of options in docs/reference/commands.md, made from the command line's own definitions.
// `npm run reference` writes them; a test compares the committed text.

const BLOCK = /<!-- options: ([\w-]+) -->\n[\s\S]*?<!-- end of options -->/g;

/** The page with a table of arguments and options between each pair of marks. @param program the commander program */
export function withOptions(page, program) {
  return page.replace(BLOCK, (_, name) => {
    const table = name === 'global' ? optionTable(program.options) : commandTables(program, name);
    return `<!-- options: ${name} -->\n${table}\n<!-- end of options -->`;
  });
}

/** The page with the table of the simulator's odd services between its marks. @param services `ODD_SERVICES` */
export function withOddServices(page, services) {
  const rows = services.map(({ name, description }) => row(name, description));
  const table = ['| name | what the service does |', '|---|---|', ...rows].join('\n');
  return page.replace(
    /<!-- odd services -->\n[\s\S]*?<!-- end of odd services -->/,
    () => `<!-- odd services -->\n${table}\n<!-- end of odd services -->`,
  );
}

/** The names in the marks, in their order. */
export function namesOfOptions(page) {
  return [...page.matchAll(BLOCK)].map(([, name]) => name);
}

function commandTables(program, name) {
  const command = program.commands.find((one) => one.name() === name);
  if (command === undefined) throw new Error(`docs/reference/commands.md: there is no command ${name}`);
  const isGroup = command.commands.length > 0 && command.registeredArguments.length === 0;
  const own = isGroup ? [] : [tableOf(`worktrack ${name}`, command)];
  return [...own, ...command.commands.map((one) => tableOf(`worktrack ${name} ${one.name()}`, one))].join(
    '\n\n',
  );
}

function tableOf(words, command) {
  const usage = `Usage: \`${words} ${command.usage()}\``;
  const takes = command.registeredArguments.map((one) => row(one.name(), one.description));
  const table = optionTable(command.options, takes);
  return table === '' ? usage : `${usage}\n\n${table}`;
}

function optionTable(options, rows = []) {
  const all = [...rows, ...options.map((option) => row(option.flags, meaningOf(option)))];
  return all.length === 0 ? '' : ['| option | meaning |', '|---|---|', ...all].join('\n');
}

function meaningOf({ description, argChoices, defaultValue }) {
  const choices = argChoices === undefined ? '' : `: ${argChoices.map((one) => `\`${one}\``).join(', ')}`;
  const standard =
    defaultValue === undefined || defaultValue === true ? '' : ` (default: \`${defaultValue}\`)`;
  return `${description}${choices}${standard}`;
}

function row(name, meaning) {
  return `| \`${escaped(name)}\` | ${escaped(meaning)} |`;
}

function escaped(text) {
  return text.replaceAll('|', '\\|');
}
