/** A sentence or a part of one on a page, and the name of a test, or the beginning of it, that fails if it does not hold. */
type Claim = readonly [words: string, test: string];

/** The checked claims of each page. `limits.test.ts` tests numbers, `text.test.ts` messages. */
export const CLAIMS: Readonly<Record<string, readonly Claim[]>> = {
  'README.md': [
    [
      'publishes a verified CSV snapshot of each list in one atomic step',
      'publishes every resource, equal to the service value for value',
    ],
    [
      'Killed workers, rate limits and network failures delay a run, but lose no row',
      'recover, without lost, duplicate, stray or partly visible objects',
    ],
    ['no longer lists after 90 days stay in the lake', 'keep every row that was ever in the window'],
    ['The tests run on real servers', 'keeps objects as plain files after kill -9 and a restart'],
  ],
  'SECURITY.md': [["| the service's API key |", 'the pages name the commands that read the API key']],
  'docs/concepts.md': [
    [
      'A reader who starts at the pointer sees the old snapshot or the new one, never a mix',
      'publishes under a pointer that names the snapshot',
    ],
    [
      'A run that fails leaves it where it is',
      'resumes from the staged pages once the key is valid again, and misses no change',
    ],
    [
      'This is a **gap**',
      'records the gap of a long outage, and reports it in status and export with exit code 0',
    ],
    [
      'the service recognizes the key and creates one record',
      'creates each row once, with a receipt that names the record',
    ],
    [
      'It holds the checkpoint and serves one request at a time',
      'answers many concurrent exports, and merges the equal requests',
    ],
  ],
  'docs/service-api.md': [
    [
      '`null`, an empty string or a missing field ends the list',
      'is read completely despite resets, truncated bodies',
    ],
    [
      '1,000, halved until the service accepts it',
      'appears in status, and is retried every seven runs until the service accepts it',
    ],
    [
      'it sends read-only requests and prints the settings that follow',
      'measures the points that the API leaves open',
    ],
  ],
  'docs/explanation/guarantees.md': [
    [
      'The start is the earlier of two clocks',
      'the checkpoint with clock: $clock and a service $ahead h ahead',
    ],
    [
      "If the service's clock was set back, the run reads from an earlier time",
      'a setback of $back ms is compensated from $since',
    ],
    [
      'the record goes to `_quarantine/` with a warning',
      'are quarantined with a warning if configured, and none is lost',
    ],
    ['A record without its key stops the run', 'records without a key stop the run with a message'],
    [
      'stays in the snapshot forever',
      'a windowed resource with deletes: $deletes and $resource keeps all rows',
    ],
    [
      'Every resource is read completely once per `sync.reconcileEvery` (7 days)',
      'read everything after a week, also with a window',
    ],
    [
      'It then rereads the list at most twice',
      'a list that shifts in every read is published with a warning',
    ],
    [
      'if it is absent from two complete passes of one run',
      'marks a record that is absent from two passes, keeps its row',
    ],
    ['a 404 or 410 by id replaces the second pass', '410 counts as deleted, like 404'],
    ['except within two days of its edge', 'a reconciliation of a window ignores records near its edge'],
    [
      'the row leaves the snapshot. In the change log, it has `_deleted_at` set',
      'drops rows with deletes: drop, and never with deletes: keep',
    ],
    [
      'more than 10% of the rows and more than 20 rows are gone',
      'stops before publishing if more than a tenth would be deleted, unless allowed',
    ],
    ['A cursor that recurs in one chain of pages stops the run', 'stop the run if the cursors repeat'],
    [
      'A run may continue the pages of a failed run, for a day',
      'reads the changes since then, keeps the checkpoint of that read, and adds a warning',
    ],
    ['After 500 pages in a row', 'is tried for every odd service'],
    [
      'its literal text: `9007199254740993`, `12.50`, `1e21`',
      'has every value of the snapshots of all resources, awkward ones included',
    ],
    [
      'U+FFFD, with a warning that counts them',
      'pages that say that values are never changed also name U+FFFD',
    ],
    [
      'With `masking.secret`, a hash is HMAC-SHA-256',
      'is keyed by the secret, which rewrites every row once',
    ],
    [
      '`contract: freeze`, new columns and types stop the run',
      'stop a run with a frozen contract before it publishes',
    ],
    ['Equal content gives equal bytes', 'carries over unchanged parts byte for byte'],
    [
      '`csv.lineBreaks: escape`, a backslash, LF or CR',
      'are what every reader gets: lineBreaks $lineBreaks, escapeFormulas $escapeFormulas',
    ],
    ['counted as *restated*', 'a change that can be computed asks the service only for changes'],
    ['Rows that only the earlier list had stay', 'a change of the path reads the new list in full'],
    [
      'rereads what is published and checks every hash',
      'verify detects a flipped bit in every object of the published run',
    ],
    [
      'a missing grant | its resource ends, exit code 3',
      'a refusal by the service because of a missing grant ends the resource',
    ],
    [
      'a plan without API access | the export ends, exit code 3',
      'a refusal by the service because of a plan without API access',
    ],
    ['(for 15 minutes)', 'a refusal with words about a limit that lasts ends after 15 minutes'],
    [
      'A wait longer than `retries.giveUpAfter` ends the run immediately',
      'Retry-After of %i that is longer than giveUpAfter ends immediately',
    ],
    ['A redirect of a read is followed within the origin', 'a redirect to another origin receives nothing'],
    ['A 429 halves the pace', 'sends nothing before the time in a 429, then slows down, and recovers'],
    [
      'until `worktrack export --adopt`',
      'stops when another mirror has published instead, names it, and takes over with --adopt',
    ],
    [
      "A service that knows none of the lake's projects is refused",
      'is rejected, even with --adopt, if the service there knows none of the projects',
    ],
    [
      'If you rename a connection, its runs stop',
      'says in one line to whom the lake belongs, and takes it over with --adopt',
    ],
    ['at least five are unknown', 'is not suspected if only a few known projects are deleted'],
    [
      'The API key never appears in an argument, a history, a manifest',
      'such as the API key appear in no history, log, metric, object, receipt',
    ],
    [
      'Record contents and record keys never enter a history',
      'appear in no history, heartbeat, log, metric, notification or answer',
    ],
    [
      'A resource that fails does not stop the others',
      'names the resource whose path does not exist, and publishes the others',
    ],
    [
      'A row whose outcome is known is never sent again',
      'make as many records with a receipt each, whatever the service loses',
    ],
    [
      'Any other 2xx leaves the row `unknown`',
      'leave their rows unknown after one request, with the words of the service',
    ],
    [
      'A batch looks its rows up among those that other batches',
      'is not written again from a corrected file with the same key column',
    ],
    [
      'Batches of one resource are written one at a time',
      'are written one at a time, in the order of their arrival',
    ],
    [
      'the batch stops with exit code 3, and these rows count as not sent',
      'stop the batch after a few requests if the service accepts none',
    ],
  ],
  'docs/explanation/how-it-works.md': [
    [
      'A killed worker costs at most ten seconds of reading',
      'is replaced by a worker that continues from the last staged position',
    ],
    [
      'errors of the table, of `onPublished` and of the clean-up are warnings',
      'a Delta table that cannot be written does not fail the run',
    ],
    [
      'If the store returns 412, 409 or no answer',
      'calls a conditional write unclear when its answer %s, and sends it once',
    ],
    [
      'before its history grows beyond 2,000 events',
      'keeps every history below 2,000 events, and no record in any of them',
    ],
    ['A large reading therefore merges chunks', 'is merged in steps'],
    [
      'A run stops only if no other request waits for it',
      'cancels its run when the only waiting export is cancelled',
    ],
    [
      'An unchanged part is copied within the store',
      'copies parts within the store: of the rows, the worker reads only the block indexes',
    ],
  ],
  'docs/explanation/delta-tables.md': [
    [
      'A table therefore never shows a run that was not published',
      'has one version for each published run and names no absent file',
    ],
    ['So each cast first checks the text', 'show every cell in $title'],
    ['A purge rewrites the file that holds the record', 'has a purged record in none of its files'],
  ],
  'docs/internals/fencing.md': [
    ['All activities send heartbeats', 'The limits of the activities'],
    [
      'A store must support conditional writes',
      'a store without conditional writes that %s is rejected before anything is written',
    ],
    ['deliver every write of every activity', 'does no harm in a run: %s'],
  ],
  'docs/internals/recovery.md': [
    [
      'publishes N, which the next attempt or run finds on the chain',
      'is accepted by the fence of the next run if its swap has arrived before',
    ],
    [
      'that sweep checks all folders against their manifests',
      'removes parts that late requests restore, although no run follows',
    ],
    [
      'The next run is that read, and marks no deletes',
      'is a run: it publishes the rows and the checkpoint of its target',
    ],
    ['a clock is wrong', 'removes nothing, because the time comes from Temporal'],
  ],
  'docs/how-to/workers.md': [
    ['each counts as 64 MiB', 'The memory budget of workers'],
    ['keeps the configuration in use', 'stays in use if the changed file is invalid'],
    ['the worker ends with exit code 4 after that time', 'ends with exit code 4 after --give-up-after'],
    [
      '`/readyz` answers 503 with the state `disconnected`',
      'is not ready 30 s after the first failure, logs the cause once',
    ],
    [
      'Another worker continues from the last saved position',
      'hands over to the next worker immediately when it is shut down',
    ],
  ],
  'docs/how-to/embed.md': [
    [
      'It starts once for every published run, in order',
      'starts once for each published run, with its report',
    ],
    [
      'the next published run starts it for all runs that it missed',
      'the workflow of onPublished that cannot be started in three runs',
    ],
    [
      'The plugin sets `shutdownGraceTime` to 30 s unless you set it',
      'gives activities time to save their positions if the user has set no grace time',
    ],
    ['Follow runs there without `onView`', 'can be tested in the time-skipping environment'],
  ],
  'docs/how-to/s3.md': [
    [
      'Any S3-compatible store works if it enforces conditional writes',
      'is probed once per worker and connection',
    ],
    ['If a run is in progress, no second one starts', 'skips runs while one is in progress'],
  ],
  'docs/how-to/monitor.md': [
    ['A resource has the first state that applies', 'the state for %o is %s, everywhere'],
    ['A report is one HTML page without record data', 'does not execute the content of a name'],
  ],
  'docs/how-to/logs-and-traces.md': [
    ['Lines of activities carry', 'has the run, the phase and the attempt in every line of an activity'],
    ['and no stack trace', 'has no stack of a failure that is retried'],
    [
      'spans are lost and no run fails',
      'never fails an export, and reports once that the collector rejects them',
    ],
    ['The first line is `starting a worker`', 'A line of the log that a page quotes'],
  ],
  'docs/how-to/troubleshoot.md': [
    ['It prints a remedy for each problem', 'shows in the page on troubleshooting what doctor prints'],
    [
      'the next run writes it again',
      'damage in a block index, or a missing index, is repaired by the next export',
    ],
    [
      'exports fail without retries',
      'damage in a part is reported with the intact runs, fails the next export immediately',
    ],
  ],
  'docs/how-to/write-back.md': [
    ['`unknown`', 'are listed after that, and sent again or left only by an option'],
  ],
  'docs/how-to/upgrade.md': [
    ['has an earlier layout of the lake', 'about the layout of the lake is one of the code'],
  ],
  'docs/how-to/alerts.md': [
    [
      'If Temporal or all workers are down',
      'exists only for targets that need it, and goes with the Schedule',
    ],
  ],
  'docs/reference/json-output.md': [
    ['## export --no-wait', '%s, printed by `%s`, has the shape that the reference shows'],
    ['## write-back --dry-run', '%s, printed by `%s`, has the shape that the reference shows'],
    ['An element of `connections` or `resources` has its own name in `name`', 'has its name in `name` (%s)'],
  ],
  'docs/reference/lake.md': [
    ['Layout and formats are stable', 'leaves nothing in the lake that docs/reference/lake.md does not list'],
    ['Frictionless Data Package', 'are all valid: every snapshot and change log of every run'],
  ],
  'docs/reference/metrics.md': [
    ['at most 66 series', 'have at most 66 series for a connection with four resources'],
    [
      'Labels contain only names from the configuration and fixed words',
      'count every run, page, request and wait, by connection and resource, and contain no secret',
    ],
  ],
  'docs/reference/exit-codes.md': [
    ['3 takes precedence over 1', 'is 3 if the service refused anything, regardless of other outcomes'],
    [
      'exits with the worst code of its connections',
      'export all, print one line for each first, and end with the worst exit code',
    ],
  ],
  'CONTRIBUTING.md': [
    [
      'all but chaos, engines and benchmarks',
      'the pages name test commands with what they run and leave out',
    ],
  ],
};

/** Blocks without a language that people run or the program reads: the page, how the block begins, and its test. */
export const BLOCKS: readonly (readonly [page: string, start: string, test: string])[] = [
  [
    'README.md',
    '1. The first export reads everything',
    'begins with a demo, the last step of `npm run demo`',
  ],
  ['README.md', '  Schedule, command line', 'a drawing'],
  [
    'docs/how-to/alerts.md',
    'acme: the run of 2 resources failed',
    'shows only messages that a target gets: %s',
  ],
  ['docs/how-to/alerts.md', 'trigger worktrack/failure/acme', 'shows only messages that a target gets: %s'],
  ['docs/how-to/delta-tables.md', 'spark.sql.extensions', 'settings of another program'],
  ['docs/how-to/delta-tables.md', 'connector.name=delta_lake', 'settings of another program'],
  [
    'docs/how-to/query.md',
    'column "amount" has a new value',
    'about a value that does not fit its type is one of the code',
  ],
  [
    'docs/how-to/troubleshoot.md',
    'ok       configuration',
    'shows in the page on troubleshooting what doctor prints',
  ],
  ['docs/how-to/upgrade.md', 's3://acme-lake/worktrack', 'about the layout of the lake is one of the code'],
  ['docs/internals/recovery.md', ' run 1 <--- run 2', 'a drawing'],
  [
    'docs/reference/lake.md',
    '<lake>/<resource>/snapshots',
    'leaves nothing in the lake that docs/reference/lake.md does not list',
  ],
  ['docs/tutorial.md', '', 'the commands of the tutorial, typed in order, print what the tutorial shows'],
];
