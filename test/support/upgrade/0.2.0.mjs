// A workflow of an example release, whose histories later releases must replay. Bundled for Temporal's sandbox, not compiled.
import { condition, continueAsNew, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

const { count } = proxyActivities({ startToCloseTimeout: '10 seconds' });

/** Counts each signal. Its state passes to the next history. */
export async function countingWorkflow(state) {
  let { counted, waiting } = state;
  setHandler(defineSignal('more'), () => {
    waiting++;
  });
  for (let served = 0; served < 3; served++) {
    await condition(() => waiting > 0);
    waiting--;
    counted = await count(counted);
  }
  await continueAsNew({ ...state, counted, waiting });
}
