import type { IncomingHttpHeaders } from 'node:http';
import { parseHttpDate } from '../core/parse-retry-after.js';
import { headerOf } from './body.js';
import { quoteText, type Redactor } from './redact.js';

const MAX_CHARS = 200;

/**
 * What the headers of a response announce: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Warning: 299` (RFC 9111 5.5), with
 * their dates; `null`: nothing.
 *
 * @example
 * announcementIn({ sunset: 'Sat, 01 May 2027 00:00:00 GMT' }, redact, now) // 'it ends on 2027-05-01 (Sunset)'
 */
export function announcementIn(headers: IncomingHttpHeaders, redact: Redactor, nowMs: number): string | null {
  const [deprecation, sunset, warning, link] = ['deprecation', 'sunset', 'warning', 'link'].map((name) =>
    headerOf(headers, name)?.trim(),
  );
  const shown = (text: string): string => quoteText(text, redact, MAX_CHARS);
  const on = (text: string): string => dayOf(text, nowMs) ?? shown(text);
  const [, says] = /(?:^|,)\s*299\s+\S+\s+"([^"]{1,1000})"/.exec((warning ?? '').slice(0, 4000)) ?? [];
  const parts = [
    ...(deprecation && !/^(?:false|\?0)$/i.test(deprecation)
      ? [
          /^(?:true|\?1)$/i.test(deprecation)
            ? 'it is deprecated'
            : `it is deprecated from ${on(deprecation)} on`,
        ]
      : []),
    ...(sunset ? [`it ends on ${on(sunset)} (Sunset)`] : []),
    ...(says === undefined ? [] : [`the service warns: ${shown(says)}`]),
  ];
  const isDescribed = parts.length > 0 && /rel="?(?:deprecation|sunset|successor-version)/i.test(link ?? '');
  const more = isDescribed ? /<([^<>]{1,500})>/.exec(link!)?.[1] : undefined;
  return parts.length === 0
    ? null
    : [...parts, ...(more === undefined ? [] : [`see ${shown(more)}`])].join('; ');
}

/** The UTC day of an HTTP date, or of seconds since 1970 such as `@1688169599`. */
function dayOf(text: string, nowMs: number): string | null {
  const [, seconds] = /^@?(\d{9,11})$/.exec(text) ?? [];
  const at = seconds === undefined ? parseHttpDate(text, nowMs) : 1000 * Number(seconds);
  return at === null ? null : new Date(at).toISOString().slice(0, 10);
}
