import { join } from 'node:path';
import type { Environment } from '../../core/home-folder.js';
import { findExecutable, pathFolders, runCommand } from '../run-command.js';
import { usableHome } from './cache.js';
import type { BuildInstaller, InstallContext, ServerKind, ServerSpec } from './server-spec.js';

/** Minimum Go version in the `go.mod` of all commands. */
const NEEDS_GO = '1.25';

const specs: Readonly<Record<ServerKind, ServerSpec>> = {
  temporal: {
    title: 'Temporal dev server',
    version: '1.5.1',
    variable: 'WORKTRACK_TEMPORAL_CLI',
    command: 'temporal',
    probeArgs: ['--version'],
    release: {
      repository: 'temporalio/cli',
      file: (version, { platform, cpu }) => `temporal_cli_${version}_${platform}_${cpu}.tar.gz`,
    },
    installer: goInstaller({
      package: 'github.com/temporalio/cli/cmd/temporal',
      // Same as the official builds. Without it, the CLI reports version 0.0.0-DEV.
      versionVariable: 'github.com/temporalio/cli/temporalcli.Version',
    }),
  },
  versitygw: {
    title: 'S3 server versitygw',
    version: '1.8.0',
    variable: 'WORKTRACK_VERSITYGW',
    command: 'versitygw',
    probeArgs: ['--version'],
    release: {
      repository: 'versity/versitygw',
      file: (version, { platform, cpu }) =>
        `versitygw_v${version}_${platform === 'linux' ? 'Linux' : 'Darwin'}_${cpu === 'amd64' ? 'x86_64' : cpu}.tar.gz`,
    },
    installer: goInstaller({
      package: 'github.com/versity/versitygw/cmd/versitygw',
      versionVariable: 'main.Version',
    }),
  },
};

/** All kinds, in the order they are resolved. */
export const serverKinds: readonly ServerKind[] = ['temporal', 'versitygw'];

export function serverSpec(kind: ServerKind): ServerSpec {
  return specs[kind];
}

interface GoCommand {
  /** Import path without the version. */
  readonly package: string;
  /** The variable of the package that the build sets to the version. */
  readonly versionVariable: string;
}

function goInstaller(command: GoCommand): BuildInstaller {
  return {
    source: 'go install',
    remedy: `install Go ${NEEDS_GO} or newer (https://go.dev/dl), allow access to proxy.golang.org (or a GOPROXY), and run this again`,
    run: (spec, context) => goInstall(command, spec.version, context),
  };
}

/** The arguments of `go` that build a version of a command. */
export function goInstallArgs(command: GoCommand, version: string): string[] {
  const ldflags = `-s -w -X ${command.versionVariable}=${version}`;
  return ['install', '-ldflags', ldflags, `${command.package}@v${version}`];
}

/** Whether version `have` is at least `need`, by major and minor number. Accepts `go1.26.8` and `1.25`. */
export function isGoAtLeast(have: string, need: string): boolean {
  const numbers = (text: string) =>
    (/(\d{1,9})\.(\d{1,9})/.exec(text) ?? ['', '0', '0']).slice(1).map(Number);
  const [haveMajor = 0, haveMinor = 0] = numbers(have);
  const [needMajor = 0, needMinor = 0] = numbers(need);
  return haveMajor > needMajor || (haveMajor === needMajor && haveMinor >= needMinor);
}

/**
 * The environment for `go`. Uses the user's module and build caches; without a usable home, caches in the cache folder
 * (writable, so that it can be deleted). Removes GOOS and GOARCH, because Go rejects cross builds with GOBIN.
 */
export function goEnvironment(env: Environment, home: string | null, root: string): Environment {
  const own = join(root, 'go');
  return {
    ...env,
    ...(home === null && {
      HOME: own,
      GOPATH: env.GOPATH || own,
      GOCACHE: env.GOCACHE || join(own, 'build'),
    }),
    GOFLAGS: [env.GOFLAGS, '-modcacherw'].filter(Boolean).join(' '),
    CGO_ENABLED: '0',
    GOOS: undefined,
    GOARCH: undefined,
    // `go install path@version` must ignore a workspace in the working directory.
    GOWORK: 'off',
  };
}

async function goInstall(command: GoCommand, version: string, context: InstallContext): Promise<void> {
  const { GOROOT } = context.env;
  const folders = [...pathFolders(context.env), ...(GOROOT ? [join(GOROOT, 'bin')] : [])];
  const go = await findExecutable('go', folders);
  if (go === null) throw new Error(`\`go\` is not on PATH (Go ${NEEDS_GO} or newer is required)`);
  context.report('go install');
  const base = goEnvironment(context.env, usableHome(context.env), context.root);
  const run = (args: readonly string[], env: Environment) =>
    runCommand(go, args, { env, cwd: context.target, signal: context.signal });

  const installed = (await run(['env', 'GOVERSION'], { ...base, GOTOOLCHAIN: 'local' })).trim();
  const recent = isGoAtLeast(installed, NEEDS_GO);
  // Go 1.21 and newer download the toolchain that a module requires, unless GOTOOLCHAIN is `local`.
  if (!recent && !isGoAtLeast(installed, '1.21')) {
    throw new Error(`${go} is ${installed}, but Go ${NEEDS_GO} or newer is required (https://go.dev/dl)`);
  }
  await run(goInstallArgs(command, version), {
    ...base,
    GOBIN: context.target,
    ...(recent ? {} : { GOTOOLCHAIN: 'auto' }),
  });
}
