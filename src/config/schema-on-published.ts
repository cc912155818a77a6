import { singleLine } from './scalars.js';
import { section } from './section.js';

/** Temporal limits names to 1,000 bytes. */
const MAX_LENGTH = 200;

/** `onPublished` of a connection: the user's workflow that starts once for each published run. */
export const onPublished = section({
  workflow: singleLine('the type of a workflow such as loadWarehouse', MAX_LENGTH).describe(
    "The workflow's type. Its argument is `{ connection, report }`, with the report of the run.",
  ),
  taskQueue: singleLine('the name of a task queue such as warehouse', MAX_LENGTH).describe(
    "Task queue of your worker, which may be the queue of this package's worker. The workflow starts even if no worker polls it yet.",
  ),
});
