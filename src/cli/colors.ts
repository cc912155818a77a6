import pc from 'picocolors';

/**
 * Colours for what goes to a stream: on a terminal, or where `FORCE_COLOR` asks for them; never with `NO_COLOR`
 * (https://no-color.org). Of itself the library would colour everything in CI, files too.
 */
export function colorsFor(
  { isTTY }: { readonly isTTY?: boolean },
  env: NodeJS.ProcessEnv = process.env,
): ReturnType<typeof pc.createColors> {
  const forced = env.FORCE_COLOR !== undefined && !['', '0', 'false'].includes(env.FORCE_COLOR);
  const terminal = isTTY === true && env.TERM !== 'dumb';
  return pc.createColors(!env.NO_COLOR && (forced || terminal));
}
