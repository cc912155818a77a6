// A workflow that never returns from a call. It runs in Temporal's sandbox, so it is bundled and not compiled.
export { waiting } from './waiting-workflow.mjs';

export async function stuck() {
  for (;;);
}
