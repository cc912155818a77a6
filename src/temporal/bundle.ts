import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundleOption } from '@temporalio/worker';
import type { DataConverter } from './connect.js';
import { PACKAGE_ROOT } from './version.js';

/** Which of the two lists of our workflows: with versioning behaviours, or without (workflows/versioned.ts says why). */
export type WorkflowList = 'index' | 'versioned';

/** The bundles that are made once, at build time, and shipped: a worker starts in a second and not in ten. */
export const SHIPPED_BUNDLES: Readonly<Record<WorkflowList, string>> = {
  index: fileOf('dist/workflow-bundle.js'),
  versioned: fileOf('dist/workflow-bundle.versioned.js'),
};

/** What the user has put into the sandbox beside our workflows. */
export interface BundledByUser {
  readonly converter?: DataConverter | undefined;
  /** Paths of modules with workflow interceptors, such as those of a tracing library. */
  readonly interceptorModules?: readonly string[] | undefined;
}

/** Bundles our workflows, with converters and interceptors of the user's own where there are any. Takes seconds. */
export async function bundleWorkflows(
  list: WorkflowList,
  { converter = {}, interceptorModules = [] }: BundledByUser = {},
): Promise<{ code: string }> {
  const { payloadConverterPath, failureConverterPath } = converter;
  return bundleWorkflowCode({
    logger: new DefaultLogger('WARN'),
    workflowsPath: fileOf(`dist/workflows/${list}.js`),
    workflowInterceptorModules: [...interceptorModules],
    ...(payloadConverterPath === undefined ? {} : { payloadConverterPath }),
    ...(failureConverterPath === undefined ? {} : { failureConverterPath }),
  });
}

/** @throws Error when the package was not built */
export function shippedBundle(list: WorkflowList = 'index'): { codePath: string } {
  const codePath = SHIPPED_BUNDLES[list];
  if (!existsSync(codePath)) {
    throw new Error(`the workflow bundle ${codePath} is missing; run \`npm run build\``);
  }
  return { codePath };
}

/**
 * Our workflows for a worker with this data converter and these interceptors. Codecs run outside the sandbox, so the
 * shipped bundle does for them; converters and interceptors of the user's own run inside, so they are bundled with our
 * workflows.
 */
export async function bundleFor(list: WorkflowList, own: BundledByUser = {}): Promise<WorkflowBundleOption> {
  const { converter = {}, interceptorModules = [] } = own;
  const { payloadConverterPath, failureConverterPath } = converter;
  const inside = [payloadConverterPath, failureConverterPath, ...interceptorModules];
  return inside.every((path) => path === undefined) ? shippedBundle(list) : bundleWorkflows(list, own);
}

/** A file of the package, by its path in it. */
export function fileOf(path: string): string {
  return fileURLToPath(new URL(path, PACKAGE_ROOT));
}
