// The release after 0.2.0.mjs: it has one more step, behind a patch, and one more field in its state, with a default.
import {
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  patched,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';

const { count, report } = proxyActivities({ startToCloseTimeout: '10 seconds' });

const NEW = { counted: 0, waiting: 0, reported: 0 };

export async function countingWorkflow(initial) {
  let { counted, waiting, reported } = { ...NEW, ...initial };
  setHandler(defineSignal('more'), () => {
    waiting++;
  });
  setHandler(defineQuery('state'), () => ({ counted, reported }));
  for (let served = 0; served < 3; served++) {
    await condition(() => waiting > 0);
    waiting--;
    counted = await count(counted);
    if (patched('report')) reported = await report(reported);
  }
  await continueAsNew({ ...initial, counted, waiting, reported });
}
