/** Arguments of a dev server that looks every second whether a version has drained. The default is every few minutes. */
export const DRAINS_SOON: readonly string[] = [
  'VersionDrainageStatusVisibilityGracePeriod',
  'VersionDrainageStatusRefreshInterval',
].flatMap((name) => ['--dynamic-config-value', `matching.wv.${name}="1s"`]);
