const LIST =
  '(?:results?|result sets?|records?|rows|items|entries|hits|lists?|data|responses?|answers?|output|pages?)';
const LACKS =
  '(?:incomplete|partial|missing|omitted|skipped|dropped|left out|lost|unavailable|not available)';
const SHOWN = '(?:is|are|was|were) (?:returned|included|shown|listed|displayed)\\b';
const ENDS = '(?:truncated|cut|capped)';
const IS =
  '(?:is|are|was|were|be|been|being|may|might|could|can|not|have|has|had|only|temporarily|currently)';
const NOT = '(?:not|isn t|aren t|wasn t|weren t)';
const CANNOT = '(?:could not|couldn t|cannot|can not|can t|did not|didn t|unable to|failed to)';
const READ =
  '(?:loaded|read|fetched|returned|included|searched|retrieved|reached|queried|shown|listed|displayed|visible)';
/** What the lists of a service come from. */
const PARTS =
  '(?:shards?|nodes?|partitions?|replicas?|regions?|backends?|sources?|data ?sources?|indexes|indices|clusters?)';
const COUNT = '(?:[1-9][\\d,]*)';

/** A sentence that says that records are missing, in lower case and with single spaces. */
const INCOMPLETE = [
  /^(?:incomplete|timed out|time ?out)$/,
  `\\b(?:incomplete|partial|missing|omitted) ${LIST}\\b`,
  `\\b${LIST} (?:incomplete|omitted)\\b`,
  `\\b${LIST} (?:${IS} ){1,4}(?:\\w+ or )?${LACKS}\\b`,
  `\\b${LIST} (?:(?:is|are|was|were|may|might|could|can) )?${NOT} (?:be |yet |been )?complete\\b`,
  `\\b${LIST} (?:from|of|in) (?:\\w+ ){1,4}(?:is|are|was|were) (?:missing|omitted|skipped|left out|unavailable)\\b`,
  `\\b(?:some|many|several|${COUNT}) (?:of the )?(?:\\w+ )?\\w+ (?:${IS} ){1,4}(?:missing|omitted|skipped|left out|lost)\\b`,
  `\\b(?:not|cannot|t) (?:yet )?(?:be )?${READ}\\b`,
  /\b(?:may|might) not (?:yet )?appear\b/,
  `\\b${CANNOT} (?:load|read|fetch|search|return|include|reach|query|retrieve)\\b`,
  `\\b(?:not (?:all|every)|fewer) (?:[\\d,]+ )?(?:of )?(?:the )?(?:matching )?${LIST}\\b(?! ${SHOWN})`,
  /\bpartial(?:ly)? (?:success|failure|outage|loaded|returned|available)\b/,
  /\b(?:timed out|time ?out (?:exceeded|reached|occurred|while|after|during)|(?:due to|because of) (?:an? |the )?time ?out)\b/,
  /\b(?:exceeded|reached|hit) (?:the |its |a )?time ?limit\b|\b(?:stopped|ended|terminated|aborted) early\b|\btook too long\b/,
  `\\b${PARTS} (?:\\w{1,20} )?(?:failed|(?:is|are|was|were) (?:temporarily |currently )?(?:down|unavailable|unreachable|not available|skipped))\\b`,
  `\\b${PARTS} (?:\\w{1,20} )?(?:did not|didn t|has not|have not) (?:respond|responded|answer|answered|reply|replied)\\b`,
  `\\bnot (?:all|every) (?:of the )?${PARTS}\\b`,
].map((one) => new RegExp(one));
/** A sentence that says that there are more records. On a page that another one follows, those may be the records of that page. */
const LIMITED = [
  /^(?:partial|truncated)$/,
  /\bpartial content\b/,
  `\\btruncated ${LIST}\\b|\\bcapped ${LIST}\\b`,
  `\\b${LIST} (?:truncated|capped)\\b`,
  `\\b${LIST} (?:${IS} ){1,4}(?:\\w+ or )?${ENDS}\\b`,
  `\\bnot (?:all|every) (?:of )?(?:the )?(?:matching )?${LIST} ${SHOWN}`,
  `\\b(?:only (?:the )?(?:first|top|newest|latest|last)|limited to(?: the)?(?: first| top)?) (?:[\\d,]+ )?(?:of )?(?:the )?(?:matching )?${LIST}\\b`,
  `\\b(?:too many|maximum number of|max number of) (?:matching )?(?:${LIST}|matches)\\b`,
  /\b(?:results?|records?|rows?|items?|entry|entries) (?:count )?limit (?:of [\d,]+ )?(?:(?:was|is|has been) )?(?:reached|exceeded|hit)\b/,
  /\b(?:results|records|rows|items|entries|list) exceeds? (?:the |a )?(?:maximum|limit)\b/,
].map((one) => new RegExp(one));
/** A sentence about something else, or that says that nothing is missing. */
const OTHER = [
  /\b(?:deprecat\w*|sunset|obsolete|will be|upgrade|migrate|parameters?|arguments?|headers?|fields?|attributes?|values?)\b/,
  /\b(?:attachments?|comments?|descriptions?|titles?|archived|deleted|trashed|by default|page ?size|per (?:page|request|call))\b/,
  /\b(?:each|every) (?:page|request|call|response)\b/,
  /\b(?:no|not|never|without|isn t|aren t|wasn t|weren t) (?:\w+ ){0,2}(?:incomplete|partial|truncated|timed out|missing|omitted|skipped)\b/,
];

/** Longest text that is looked at for words, in characters. */
export const MAX_TEXT = 1000;

/**
 * What a text for people says is incomplete: the list, or perhaps only the page. `null`: nothing, or something else is meant, for
 * example a deprecated parameter.
 */
export function incompleteness(text: string): 'list' | 'page' | null {
  const sentences = text.slice(0, MAX_TEXT).split(/[.;!?\n](?=\s|$)/);
  let found: 'list' | 'page' | null = null;
  for (const sentence of sentences) {
    const plain = sentence
      .toLowerCase()
      .replaceAll(/[^a-z0-9,]+/g, ' ')
      .trim();
    if (OTHER.some((one) => one.test(plain))) continue;
    if (INCOMPLETE.some((one) => one.test(plain))) return 'list';
    if (LIMITED.some((one) => one.test(plain))) found = 'page';
  }
  return found;
}
