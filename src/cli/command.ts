import { Argument, Command, Option, type ParseOptionsResult } from 'commander';
import { type ExitCode, UsageError } from './shared/choose-exit-code.js';
import { logNotesAsJson } from './shared/output.js';

/** Receives the exit code of the command that ran. */
export type OnEnd = (code: ExitCode) => void;

/** A function that runs a command: it receives the declared arguments except `resources`, then all options. */
type Run = (...args: never[]) => ExitCode | Promise<ExitCode>;

const RESOURCES = 'resources';

/** A command and its declaration, with the parts that several commands share. */
export class WorktrackCommand extends Command {
  readonly #onEnd: OnEnd;
  #takesSeveral = false;

  constructor(name: string | undefined, onEnd: OnEnd) {
    super(name);
    this.#onEnd = onEnd;
  }

  override createCommand(name?: string): WorktrackCommand {
    return new WorktrackCommand(name, this.#onEnd);
  }

  /** The command works on several connections; others take one. */
  takesConnections(): this {
    this.#takesSeveral = true;
    return this;
  }

  /** The command works on several connections and prints a line for each. */
  ofSeveral(details = 'with several connections: print the details of each, not only of problems'): this {
    return this.takesConnections()
      .option('--all', 'all connections; to select several, repeat --connection')
      .option('--failing', 'with several connections: print only those with a problem')
      .option('--details', details);
  }

  /** Adds resources as arguments, such as `worktrack history tasks`, and as options. */
  ofResources(): this {
    return this.addArgument(new Argument(`[${RESOURCES}...]`, 'only these resources (default: all)')).option(
      '--resource <name>',
      'only this resource; repeatable',
      collect,
    );
  }

  ofDay(): this {
    return this.option(
      '--dt <date>',
      'last published run of this day, such as 2026-11-21 (default: current state)',
    );
  }

  /** An option with a fixed set of values. */
  choice(flags: string, text: string, values: readonly string[], byDefault?: string): this {
    const option = new Option(flags, text).choices(values);
    return this.addOption(byDefault === undefined ? option : option.default(byDefault));
  }

  json(text = 'print one JSON object'): this {
    return this.option('--json', text);
  }

  /**
   * The options of a command end at the name of a command below it, which may have options of the same names: the rest of the line is
   * that command's. Global options may stand anywhere.
   */
  override parseOptions(argv: string[]): ParseOptionsResult {
    const { operands, unknown } = super.parseOptions(argv);
    const [name, ...others] = operands;
    const isGroup = this.commands.some((one) => one.name() === name && one.commands.length > 0);
    if (!isGroup) return { operands, unknown };
    // Only behind `--`, which was removed, an operand looks like an option.
    const literal = others.findIndex((one) => one.length > 1 && one.startsWith('-'));
    if (literal !== -1) others.splice(literal, 0, '--');
    // Otherwise commander separates the options of the command below from its operands, and parses them first.
    return { operands: [name!], unknown: [...others, ...unknown] };
  }

  /** Adds `--log-format`. Errors in the arguments are in the log, too, so the format counts as soon as it is parsed. */
  logFormat(): this {
    return this.choice('--log-format <format>', 'log format on stderr', ['text', 'json'], 'text').on(
      'option:log-format',
      (format: string) => {
        if (format === 'json') logNotesAsJson();
      },
    );
  }

  /** Common uses, shown below the help. A test checks them. @param uses what follows the command's name */
  examples(...uses: readonly string[]): this {
    const names = this.parent?.parent == null ? [this.name()] : [this.parent.name(), this.name()];
    const lines = uses.map((use) => `  ${['worktrack', ...names, use].join(' ').trimEnd()}`);
    return this.addHelpText('after', `\n${uses.length === 1 ? 'Example' : 'Examples'}:\n${lines.join('\n')}`);
  }

  /** @param load loads the module of the command, when it runs */
  runs(load: () => Promise<Run>): this {
    return this.action(async (...args: unknown[]) => {
      const options = this.#options();
      const run = (await load()) as (...args: unknown[]) => ReturnType<Run>;
      // Commander passes the arguments, the options and the command.
      this.#onEnd(await run(...(this.#hasResources() ? [] : args.slice(0, -2)), options));
    });
  }

  #hasResources(): boolean {
    return this.registeredArguments.some((argument) => argument.name() === RESOURCES);
  }

  /**
   * The options of the command and the global ones. `connections` has every `--connection`, `connection` the last.
   *
   * @throws UsageError for several connections if the command takes one, and for options that are not its own
   */
  #options(): object {
    this.#checkOptionsAbove();
    // Its own options count, not the defaults of the command above.
    const options = { ...this.optsWithGlobals(), ...this.opts() };
    const connections: readonly string[] = options.connection ?? [];
    if (!this.#takesSeveral && connections.length > 1)
      throw new UsageError(
        `${this.name()} works on one connection, but --connection names ${connections.length}`,
      );
    const named: readonly string[] = this.#hasResources() ? [...(options.resource ?? []), ...this.args] : [];
    const resource = named.length === 0 ? {} : { resource: [...new Set(named)] };
    return { ...options, ...resource, connections, connection: connections.at(-1) };
  }

  /** An option of the command above would have no effect here. @throws UsageError */
  #checkOptionsAbove(): void {
    const { parent } = this;
    if (parent === null || parent.parent === null) return;
    const given = parent.options.find(
      (option) => parent.getOptionValueSource(option.attributeName()) === 'cli',
    );
    if (given === undefined) return;
    const isOwn = this.options.some(({ long }) => long === given.long);
    const remedy = isOwn ? `Put it after ${this.name()}.` : `${this.name()} has no such option.`;
    throw new UsageError(`${given.long} before ${this.name()} is an option of ${parent.name()}. ${remedy}`);
  }
}

/** Collects the values of a repeatable option. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
