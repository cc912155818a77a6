// A mirror that publishes nothing and answers immediately. It runs in Temporal's sandbox, so it is bundled and not compiled.
import { condition, defineSignal, getExternalWorkflowHandle, setHandler } from '@temporalio/workflow';
import { requestRun, runAnswered } from '../../dist/workflows/shared/messages.js';

/** Answers each request until the signal `end`. Returns the requests. */
export async function answering() {
  const requests = [];
  let answered = 0;
  let isOver = false;
  setHandler(requestRun, (request) => void requests.push(request));
  setHandler(defineSignal('end'), () => {
    isOver = true;
  });
  for (;;) {
    await condition(() => isOver || answered < requests.length);
    if (answered === requests.length) return requests;
    const { requestId, replyTo } = requests[answered++];
    const none = { runId: null, rows: null, counts: null, snapshot: null, warnings: [], error: null };
    const report = { resource: 'time-entries', outcome: 'published', ...none };
    await getExternalWorkflowHandle(replyTo).signal(runAnswered, { requestId, report });
  }
}
