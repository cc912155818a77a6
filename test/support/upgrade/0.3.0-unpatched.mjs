// As 0.3.0.mjs, without the patch: it cannot replay what 0.2.0.mjs recorded.
import {
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
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
    reported = await report(reported);
  }
  await continueAsNew({ ...initial, counted, waiting, reported });
}
