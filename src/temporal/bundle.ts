import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { PACKAGE_ROOT } from './version.js';

/** The workflow bundle that is made once, at build time, and shipped: a worker starts in a second and not in ten. */
export const SHIPPED_BUNDLE: string = fileURLToPath(new URL('dist/workflow-bundle.js', PACKAGE_ROOT));

/** Bundles our workflows. @param entry path of the module that exports them */
export function bundleWorkflows(entry: string): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({ workflowsPath: entry });
}

/** @throws Error when the package was not built */
export function shippedBundle(): { codePath: string } {
  if (!existsSync(SHIPPED_BUNDLE)) {
    throw new Error(`the workflow bundle ${SHIPPED_BUNDLE} is missing; run \`npm run build\``);
  }
  return { codePath: SHIPPED_BUNDLE };
}
