// A workflow that shares one timer among several waits. It runs in Temporal's sandbox, so it is bundled and not compiled.
import { defineSignal, setHandler } from '@temporalio/workflow';
import { SharedTimer } from '../../dist/workflows/export/mirror-requester.js';

/** Waits for each of the given times, in milliseconds, or until the signal `release`. Returns how long each wait took. */
export async function waiting(times) {
  const timer = new SharedTimer();
  let isReleased = false;
  setHandler(defineSignal('release'), () => {
    isReleased = true;
  });
  const started = Date.now();
  const wait = async (ms) => {
    await timer.waitUntil(() => isReleased, started + ms);
    return Date.now() - started;
  };
  return Promise.all(times.map(wait));
}
