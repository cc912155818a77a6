import { announcementIn } from '../../../src/api/announcement.js';
import { isOtherCause } from '../../../src/api/classify-response.js';
import {
  boundMessage,
  classifyResponse,
  createRedactor,
  quoteText,
  type ResponseSigns,
  reportsFailure,
} from '../../../src/api/index.js';
import { peekNextCursor, readListPage } from '../../../src/api/json/page.js';
import { withResponse } from '../../../src/api/json/read-evidence.js';
import { recordIn } from '../../../src/api/json/record-in.js';
import { safeCause } from '../../../src/api/redact.js';
import { redirectPath } from '../../../src/api/redirect.js';
import { reportedError, serviceDetails, serviceMessage } from '../../../src/api/service-message.js';
import { jsonLine, textLine } from '../../../src/cli/shared/log-line.js';
import { clip, printable, printableJson, wrap } from '../../../src/cli/shared/output.js';
import { runnableHere } from '../../../src/cli/shared/runnable.js';
import { toByteString } from '../../../src/core/brands.js';
import { decimalLimit, isDecimal } from '../../../src/core/decimal.js';
import { NO_EVIDENCE } from '../../../src/core/list-evidence.js';
import { parseRetryAfter, resetDelayMs } from '../../../src/core/parse-retry-after.js';
import { limitWarnings } from '../../../src/core/run-records.js';
import { quoted } from '../../../src/core/short-text.js';
import { cutText } from '../../../src/core/text-budget.js';
import { parseIsoTime } from '../../../src/core/utc-time.js';
import { noFacts, noteNumber, stringFormat } from '../../../src/core/value-facts.js';
import { repairJson } from '../../../src/json/repair.js';
import { compact, JsonScanner } from '../../../src/json/scanner.js';
import { readValue } from '../../../src/json/value.js';
import { readRow } from '../../../src/lake/rows/csv.js';
import { ColumnSet } from '../../../src/lake/rows/data-columns.js';
import { saysDeleted } from '../../../src/lake/rows/deletion-mark.js';
import { escapeFormula, escapeLineBreaks } from '../../../src/lake/rows/escaping.js';
import { escapeHtml } from '../../../src/report/markup.js';
import { grpcMessage } from '../../../src/temporal/client/grpc.js';
import { namedResourcesOf } from '../../../src/webhook/notice.js';
import { parseTimestamp } from '../../../src/webhook/signature.js';

const MAPPING = { refused: [401, 402, 403], transient: [408, 425, 429, '5xx'] } as const;
const SECRET = 'wt_marker_"c41d\\77+ae==';
const redact = createRedactor([SECRET]);
/** An id that a service may choose. */
const hostileIds = createRedactor([SECRET], ['\\'.repeat(40), '%'.repeat(40), 'aaaaaaaaaaaaaaaaaaaaaaaa']);
const clock = { serviceDateMs: null, nowMs: 1_700_000_000_000 };
const entry = (message: string) =>
  ({
    timestampNanos: 0n,
    level: 'WARN',
    message,
    meta: { error: new Error(message), text: message },
  }) as const;

const signs = (status: number, text: string): ResponseSigns => ({ status, headers: {}, reason: '', text });

/** What reads texts from outside: of services, stores, webhook senders, files and people. */
export const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  'the class of a refusal': (text) => classifyResponse(signs(403, text), MAPPING, 'read'),
  'the cause of a refusal': (text) => isOtherCause(text),
  'what headers announce': (text) =>
    announcementIn({ deprecation: text, sunset: text, warning: text, link: text }, redact, 0),
  'what a page says of its list': (text) => {
    const said = JSON.stringify({ data: [], [text]: text, page: { message: text, [text]: true } });
    readListPage(toByteString(said), { columns: new ColumnSet(['id'], []), flatten: null });
    const headers = { warning: text, 'x-pagination': text, 'content-range': text, [text]: 'true' };
    return withResponse(NO_EVIDENCE, { status: 200, headers, shown: redact });
  },
  'a deletion field': (text) => saysDeleted(toByteString(text), null, 0),
  'the class of a failure': (text) => classifyResponse(signs(503, text), MAPPING, 'read'),
  'the class by reason and header': (text) =>
    classifyResponse(
      { ...signs(403, ''), reason: text, headers: { 'x-error': text, ratelimit: text, 'x-ratelimit': text } },
      MAPPING,
      'write',
    ),
  'the redactor': redact,
  'the redactor of record ids': hostileIds,
  'the redacted beginning of a text': (text) => redact.head(text, 500),
  'a quoted text': (text) => quoteText(text, redact),
  'a bounded message': boundMessage,
  'the copy of a cause': (text) => safeCause(new Error(text), redact),
  'the message of a service': (text) => serviceMessage(text, redact),
  'the details of an error': (text) => serviceDetails(text, redact),
  'an error in a body of 200': (text) => reportedError(text),
  'a member that reports a failure': (text) =>
    reportsFailure('error', { kind: 'string', text } as Parameters<typeof reportsFailure>[1]),
  'a status that reports a failure': (text) =>
    reportsFailure('status', { kind: 'string', text } as Parameters<typeof reportsFailure>[1]),
  'a redirect': (text) =>
    redirectPath(302, text, { method: 'GET', origin: 'https://t.example', path: '/api/public/v2/tasks' }),
  'Retry-After': (text) => parseRetryAfter(text, clock),
  'the reset of a limit': (text) =>
    resetDelayMs({ 'x-ratelimit-reset': text, ratelimit: text, [text.slice(0, 60_000)]: '1' }, clock),
  'the next cursor': (text) => peekNextCursor(toByteString(text)),
  'a page of a list': (text) => readListPage(toByteString(text), { key: ['id'] } as never),
  'an id in a body': (text) => recordIn(toByteString(text), 'id', 'x'),
  'a JSON value': (text) => readValue(new JsonScanner(toByteString(text))),
  'compact JSON': (text) => compact(toByteString(text)),
  'repaired JSON': (text) => repairJson(toByteString(text)),
  'a row of CSV': (text) => readRow(text, ','),
  'escaped cells': (text) => escapeFormula(escapeLineBreaks(toByteString(text))),
  'a decimal': (text) => isDecimal(text) && decimalLimit(text),
  'the facts of a number': (text) => noteNumber(noFacts(), text),
  'the format of a text': (text) => stringFormat(text),
  'a time': parseIsoTime,
  'a timestamp of a webhook': parseTimestamp,
  'the resources of a notice': (text) =>
    namedResourcesOf(Buffer.from(text), { resource: '/events/*/type', kinds: {}, resources: ['tasks'] }),
  'a text with a budget': (text) => cutText(text, 2000),
  'warnings with a budget': (text) => limitWarnings([text, text]),
  'a quoted name': quoted,
  'a line on a terminal': (text) => wrap(printable(text), 80),
  'JSON on a terminal': printableJson,
  'a clipped line': (text) => clip(text, 80),
  'commands in a text': runnableHere,
  'a line of the log': (text) => textLine(entry(text), 80),
  'a line of the JSON log': (text) => jsonLine(entry(text)),
  'a cell of the report': escapeHtml,
  'a message of Temporal': (text) => grpcMessage(new Error(text)),
};
