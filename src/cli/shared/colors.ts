import pc from 'picocolors';

/**
 * Colors for a stream: on a terminal or with `FORCE_COLOR`, never with `NO_COLOR` (https://no-color.org). By default the
 * library would color all output in CI, including files.
 */
export function colorsFor(
  { isTTY }: { readonly isTTY?: boolean },
  env: NodeJS.ProcessEnv = process.env,
): ReturnType<typeof pc.createColors> {
  const forced = env.FORCE_COLOR !== undefined && !['', '0', 'false'].includes(env.FORCE_COLOR);
  const terminal = isTTY === true && env.TERM !== 'dumb';
  return pc.createColors(!env.NO_COLOR && (forced || terminal));
}
