import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  bundleWorkflowCode,
  DefaultLogger,
  type Logger,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { PACKAGE_ROOT } from '../../core/version.js';
import type { DataConverter } from '../client/connect.js';

/** The entry point of the bundle: with versioning behaviours, or without (see workflows/versioned.ts). */
type WorkflowList = 'index' | 'versioned';

/** The bundles that the build creates, so that a worker starts in one second instead of ten. */
export const SHIPPED_BUNDLES: Readonly<Record<WorkflowList, string>> = {
  index: fileOf('dist/workflow-bundle.js'),
  versioned: fileOf('dist/workflow-bundle.versioned.js'),
};

/** The user's modules that run in the workflow sandbox. */
interface UserModules {
  readonly converter?: DataConverter | undefined;
  /** Paths of modules with workflow interceptors, such as those of a tracing library. */
  readonly interceptorModules?: readonly string[] | undefined;
  /** Default: warnings go to stderr. */
  readonly logger?: Logger;
}

/** Bundles the workflows with the user's converters and interceptors. Takes seconds. */
export async function bundleWorkflows(
  list: WorkflowList,
  { converter = {}, interceptorModules = [], logger = new DefaultLogger('WARN') }: UserModules = {},
): Promise<{ code: string }> {
  const { payloadConverterPath, failureConverterPath } = converter;
  const workflowsPath = fileOf(`dist/workflows/${list}.js`);
  const isOurs = modulesOf({ converter, interceptorModules }).length === 0;
  const { code } = await bundleWorkflowCode({
    logger,
    workflowsPath,
    // These modules hold no state, so all workflows of a worker can share them. Shared modules are frozen, which modules of
    // the user may not expect.
    preloadModules: isOurs ? [workflowsPath] : [],
    workflowInterceptorModules: [...interceptorModules],
    ...(payloadConverterPath === undefined ? {} : { payloadConverterPath }),
    ...(failureConverterPath === undefined ? {} : { failureConverterPath }),
    // Stack traces need the map, but not the sources in it, which a worker would keep in memory.
    webpackConfigHook: (config) => ({ ...config, devtool: 'inline-nosources-source-map' }),
  });
  return { code: toAscii(code) };
}

/**
 * The same program in ASCII only: one other character makes an engine store the whole text with two bytes per character, once
 * for each thread.
 */
function toAscii(code: string): string {
  return code.replace(
    /[^\0-\x7f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** @throws Error if the package is not built */
export function shippedBundle(list: WorkflowList = 'index'): { codePath: string } {
  const codePath = SHIPPED_BUNDLES[list];
  if (!existsSync(codePath)) {
    throw new Error(`the workflow bundle ${codePath} is missing; run \`npm run build\``);
  }
  return { codePath };
}

/**
 * The workflow bundle for a worker with this data converter and these interceptors. Codecs run outside the sandbox and
 * need no bundling. Converters and interceptors run inside, so they are bundled with the workflows.
 */
export async function bundleFor(list: WorkflowList, own: UserModules = {}): Promise<WorkflowBundleOption> {
  return modulesOf(own).length === 0 ? shippedBundle(list) : bundleWorkflows(list, own);
}

/** The paths of the user's modules. */
function modulesOf({ converter = {}, interceptorModules = [] }: UserModules): string[] {
  const { payloadConverterPath, failureConverterPath } = converter;
  return [payloadConverterPath, failureConverterPath, ...interceptorModules].filter(
    (path) => path !== undefined,
  );
}

/** The absolute path of a file of this package. */
export function fileOf(path: string): string {
  return fileURLToPath(new URL(path, PACKAGE_ROOT));
}
