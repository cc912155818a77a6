import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundleOption } from '@temporalio/worker';
import type { DataConverter } from './connect.js';
import { PACKAGE_ROOT } from './version.js';

/** Which of the two lists of our workflows: with versioning behaviours, or without (workflows/versioned.ts says why). */
export type WorkflowList = 'index' | 'versioned';

/** The bundles that are made once, at build time, and shipped: a worker starts in a second and not in ten. */
export const SHIPPED_BUNDLES: Readonly<Record<WorkflowList, string>> = {
  index: built('dist/workflow-bundle.js'),
  versioned: built('dist/workflow-bundle.versioned.js'),
};

/** Bundles our workflows, with converters of the user's own where there are any. Takes seconds. */
export async function bundleWorkflows(
  list: WorkflowList,
  { payloadConverterPath, failureConverterPath }: DataConverter = {},
): Promise<{ code: string }> {
  return bundleWorkflowCode({
    logger: new DefaultLogger('WARN'),
    workflowsPath: built(`dist/workflows/${list}.js`),
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
 * Our workflows for a worker with this data converter. Codecs run outside the sandbox, so the shipped bundle does for
 * them; converters run inside, so those of the user's own are bundled with our workflows.
 */
export async function bundleFor(
  list: WorkflowList,
  converter: DataConverter = {},
): Promise<WorkflowBundleOption> {
  const { payloadConverterPath, failureConverterPath } = converter;
  if (payloadConverterPath === undefined && failureConverterPath === undefined) return shippedBundle(list);
  return bundleWorkflows(list, converter);
}

function built(path: string): string {
  return fileURLToPath(new URL(path, PACKAGE_ROOT));
}
