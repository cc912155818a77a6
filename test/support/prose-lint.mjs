// The prose linter, a part of `npm run lint`. It reads pages, comments, messages, help and test names, and reports wordings
// that a native technical writer would not use. `node test/support/prose-lint.mjs --count` prints findings per kind.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const NOUN = '(?:worker|mirror|service|store|server|process)';
const OPERATION = '(?:run|sweep|export|backfill|merge|write-back|purge|rollback|increment|full read)s?';

/**
 * Each kind: its name, what to look for, what to write instead, and a sentence that contains it.
 * `in` limits a kind to `cells` of tables or to `names` of tests; `notIn` excludes paths; `code` keeps code spans in the text.
 */
export const KINDS = [
  kind(
    'run for something else',
    /\b(?<!no )(?:short|shorter|longer|sorted) runs?\b/,
    'fast path, compaction, sorted chunk',
    'After a short run, the sweep is due.',
  ),
  kind(
    'night for a run',
    /(?<![Ee]very )\bnights?\b/,
    'nightly run, or "every night" for the time',
    'A quiet night takes one activity.',
    { notIn: /^test\// },
  ),
  kind(', else', /[,;] else\b/, 'otherwise, or "by default"', 'The value is 1 with a table, else 0.'),
  kind(
    'also if',
    /\balso (?:if|when|while|though|after|without)\b/,
    'even if',
    'It stays, also if the worker stops.',
  ),
  kind('beside', /\bbeside\b/, 'next to, compared with, in addition to', 'The figure beside the loop.'),
  kind(
    'below a folder',
    /\bbelow (?:`[^`]*\/[^`]*`|(?:the )?[\w<>$.]*\/[\w<>$./]*)/,
    'under',
    'Objects below `_staging/` are removed.',
    { code: true },
  ),
  kind(
    'what X names',
    /\b(?:that|which|what) (?:(?:(?:the|a|an|its|this|your|no|another) )?(?!lists|has|also|can|does|each)[\w`.'/-]+ names|the \w+s name)\b/,
    'specified in X, listed in X',
    'the parts that the manifest names',
    { code: true },
  ),
  kind(
    'noun of noun',
    new RegExp(
      `\\b(?:(?<!change )logs?|memory|heap|clocks?|configuration|state) of (?:an?|the|its) ${NOUN}\\b`,
    ),
    "the worker's log",
    'See the log of the worker.',
  ),
  kind(
    'has for says',
    /\b(?:(?<!change )logs?|sections?|help|messages?|guides?|headings?|docstrings?|comments?|a page|(?:this|that|each|separate|another|the next) page) (?:has|have)\b(?! (?:been|no|to|the form|a (?:length|gap|checkpoint)|at most|nothing)\b)/,
    'shows, lists, states',
    'The log has the reason.',
  ),
  kind(
    'do the run',
    new RegExp(
      `\\b(?:do|does|did|doing|make|makes|making|made|tries|try) (?:the|an?|this|that|one|each|another|its|no) ${OPERATION}\\b`,
    ),
    'run, sweep, perform',
    'Another worker does the run.',
  ),
  kind(
    'preposition + which',
    /\b(?:of|in|with|from|to|for|on|by|at|under|after|before|during|through|into|until|without|against|between|over|within|behind|than) which\b/,
    'whose, where, "that … from"',
    'the run from which it continues',
  ),
  kind(
    'reference in a cell',
    /^(?:the same(?=[:;,.]|$)|likewise|as above|ditto)/i,
    'the words themselves',
    'likewise',
    { in: 'cells' },
  ),
  kind('likewise', /\blikewise\b/i, 'also, or say it', 'The other list likewise.'),
  kind('space before %', /[\d…] %(?! \d)/, '10%', 'more than 10 % of the rows'),
  kind('out of reach', /\bout of reach\b/i, 'unreachable', 'The lake is out of reach.'),
  kind('at once', /\b(?:all )?at once\b/i, 'immediately, or at the same time', 'It ends at once.'),
  kind(
    'new, changed, gone',
    /\bnew,? (?:(?:and|or) )?changed\b|\bchanged,? (?:and|or) gone\b|\bnew or changed\b/,
    'inserted, updated, deleted',
    'It counts new, changed and gone rows.',
  ),
  kind(
    'spec without a link',
    null,
    'the API, with a link to docs/service-api.md',
    'The spec gives no bounds.',
  ),
  kind('nobody', /\bnobody\b/i, 'no one, or rephrase', 'Nobody foresaw this.'),
  kind('tell of', /\b(?:tells?|told|telling) of\b/i, 'reports', 'The service tells of none.'),
  kind('is told', /\b(?:is|are|was|were|be|been) told\b(?! apart)/, 'name the actor', 'The user is told.'),
  kind(
    'now and then',
    /\bnow and then\b/i,
    'every seven days, or say when',
    'Now and then a run reads everything.',
  ),
  kind('go on', /\b(?:go|goes|went|going|gone) on\b(?! to)/, 'continues, is in progress', 'The run goes on.'),
  kind('for ever', /\b(?:for ever|[Aa]new|For so long)\b/, 'forever, again, how long', 'It stays for ever.'),
  kind(
    'of its own',
    /\bof (?:its|their|our|his) own(?=[.,;:)]|$| (?:and|as|because|for|in|that|which|with)\b)/,
    'separate, its own …',
    'a name of its own',
    { notIn: /^test\// },
  ),
  kind(
    'keep from',
    /\bkeeps? (?:nothing|no \w+)(?: else)? from\b/,
    'prevents, does not stop',
    'what fails keeps nothing else from being tried',
  ),
  kind(
    'who as a subject',
    /(?:^|[.:] )Who (?:only )?(?!are\b)\w+s\b(?![^.]*\?)/,
    'Users who',
    'Who only reads needs one permission.',
  ),
  kind(
    'turned away',
    /\bturn(?:s|ed|ing)? (?:us|it|them|him|the \w+) away\b|\bmade up for\b/,
    'rejected, runs late',
    'The service turned us away.',
  ),
  kind('is over', /\b(?:is|was|are|were) over\b(?! \d)/, 'has ended', 'what a run wrote that is over'),
  kind(
    'start nothing',
    /\b(?:starts?|begins?) (?:nothing|no merge\b)/,
    'no second one starts',
    'it starts nothing',
  ),
  kind(
    'one after the other',
    /\bone \w+ after (?:the other|another)\b|\bone after (?:the other|another)\b/,
    'one at a time, in turn',
    'one request after the other',
  ),
  kind(
    'a name as a stranger',
    /\b(?:[Tt]wins?|[Ww]ish(?:es)?|[Pp]atience|entomb(?:s|ed)?|lastWords)\b/,
    "the field's word",
    'Twins within the input',
  ),
  kind(
    'doubled negation of what',
    /\bwhatever \w+ (?:may|might) be\b|\bbe it \w+ or\b/,
    'any',
    'whatever it may be',
  ),
  kind(
    'a name that leans',
    /^(?:and|but|also|likewise|the same|too|so|then|this|these|those|they|it|he|again)\b|\b(?:as above|likewise|as well|too)$/i,
    'a sentence that stands alone',
    'also for a folder',
    { in: 'names' },
  ),
  kind(
    'a name that continues its group',
    /^(?:that|which|who|whose|so)\b|^(?:of|with|without|if|when|because|while|until|after|before|for|from|in|to|by|on|at|as|under)\b(?!-)[^,]*$/,
    'a sentence with its subject',
    'that fails is repeated',
    { in: 'names' },
  ),
];

/** @param options `in`: `cells` or `names` only; `code`: code spans stay in the text */
function kind(name, pattern, instead, sample, options = {}) {
  return { name, pattern, instead, sample, ...options };
}

/** Findings in one text: `{ kind, found, instead, at }`, with `at` as the offset in the text. */
export function findingsIn(text, { names = false, cells = false } = {}) {
  const bare = text.replace(/`[^`\n]*`/g, (span) => '`'.padEnd(span.length - 1, 'x').concat('`'));
  const found = [];
  for (const one of KINDS) {
    if (one.in === 'names' && !names) continue;
    if (one.in === 'cells' && !cells) continue;
    if (one.pattern === null) {
      found.push(...unlinkedSpec(bare, text, one));
      continue;
    }
    const source = one.code ? text : bare;
    for (const match of source.matchAll(new RegExp(one.pattern, `g${one.pattern.flags}`)))
      found.push({ kind: one.name, found: match[0], instead: one.instead, at: match.index });
  }
  return found;
}

/** "The spec" is not in the repository: a reader needs a link to the page that says what it says. */
function unlinkedSpec(bare, text, { name, instead }) {
  if (/\]\([^)]*service-api|\]\(https?:|docs\/(?:\w+\/)?service-api|RFC \d|PROTOCOL/.test(text)) return [];
  return [...bare.matchAll(/(?<![-.#])\bspec(?:s|ification|ifications)?\b(?!\s*[-(.:=])/gi)].map((match) => ({
    kind: name,
    found: match[0],
    instead,
    at: match.index,
  }));
}

/** What people read in one file: `{ text, line, names?, cells? }` for each paragraph, comment, message or test name. */
export function textsOf(path, source) {
  if (path.endsWith('.md')) return paragraphs(source);
  return codeTexts(source, path.startsWith('test/'));
}

function paragraphs(markdown) {
  const texts = [];
  let block = null;
  let fenced = false;
  const close = () => {
    if (block !== null) texts.push(block);
    block = null;
  };
  for (const [at, line] of markdown.split('\n').entries()) {
    if (/^\s*(?:```|<!--)/.test(line)) {
      close();
      if (/^\s*```/.test(line)) fenced = !fenced;
    } else if (fenced) continue;
    else if (/^\s*\|/.test(line)) {
      close();
      texts.push({ text: line, line: at + 1 });
      for (const cell of line.split(/(?<!\\)\|/).slice(1, -1))
        texts.push({ text: cell.trim(), line: at + 1, cells: true, only: 'cells' });
    } else if (line.trim() === '' || /^\s*(?:[-*]|\d+\.) |^#/.test(line)) {
      close();
      if (line.trim() !== '') block = { text: line, line: at + 1 };
    } else if (block === null) block = { text: line, line: at + 1 };
    else block.text += `\n${line}`;
  }
  close();
  return texts;
}

const TOKEN =
  /\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*(?:\n|$))+|[ \t]\/\/ .*$|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\})*`/gm;
const NAME =
  /(?:\bit|\btest|\bdescribe|\.each\((?:[^()]|\([^()]*\))*\)|\.skipIf\([^)]*\)|\.runIf\([^)]*\))\(\s*$/;

/** A literal of the program is read by people if it has several words. */
const MESSAGE = /[A-Za-z]{2,}[,:;]? [A-Za-z]{2,}/;

function codeTexts(source, isTest) {
  const texts = [];
  let message = null;
  for (const match of source.matchAll(TOKEN)) {
    const [token] = match;
    const line = source.slice(0, match.index).split('\n').length;
    if (/^\s*\//.test(token)) {
      const skipped = /^\s*\/\/ (?:biome-ignore|@ts)/.test(token);
      if (!skipped)
        texts.push({ text: token.replace(/^[ \t]*(?:\/\*\*?|\*\/|\*|\/\/) ?|\*\/$/gm, ''), line });
    } else if (isTest) {
      if (NAME.test(source.slice(Math.max(0, match.index - 400), match.index)))
        texts.push({ text: token.slice(1, -1), line, names: true });
    } else {
      const text = token
        .slice(1, -1)
        .replaceAll(/\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}/g, '…')
        .replaceAll("\\'", "'");
      // Literals that `+` joins are one message.
      if (message !== null && /^\s*\+\s*$/.test(source.slice(message.end, match.index))) message.text += text;
      else {
        message = { text, line };
        texts.push(message);
      }
      message.end = match.index + token.length;
    }
  }
  return texts.filter(({ text, end }) => end === undefined || MESSAGE.test(text));
}

/** All findings under a folder: `{ path, line, kind, found, instead }`. */
export function lint(root) {
  const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
  const folders = ['docs', 'examples', 'src', 'workflows', 'activities', 'test'];
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:md|ts|mts|mjs|cjs)$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .filter((path) => !/node_modules|\bdist\/|prose-lint|unit\/docs\/words/.test(path)),
  );
  return [...pages, ...files.sort()].flatMap((path) =>
    textsOf(path, readFileSync(join(root, path), 'utf8')).flatMap(({ text, line, only, ...where }) =>
      findingsIn(text, where)
        .filter(({ kind: name }) => {
          const { in: place, notIn } = KINDS.find((one) => one.name === name);
          return (only === undefined || place === only) && notIn?.test(path) !== true;
        })
        .map(({ at, ...finding }) => ({
          path,
          line: line + text.slice(0, at).split('\n').length - 1,
          ...finding,
        })),
    ),
  );
}

if (process.argv[1] === import.meta.filename) {
  const root = process.argv.find((word, at) => at > 1 && !word.startsWith('--')) ?? '.';
  const findings = lint(root);
  if (process.argv.includes('--count')) print(counts(findings));
  else
    for (const { path, line, kind: name, found, instead } of findings)
      console.log(`${path}:${line}: ${name}: "${found}". Write: ${instead}`);
  console.log(`${findings.length} findings`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

function counts(findings) {
  const groups = {
    docs: /\.md$/,
    'code and messages': /^(?:src|workflows|activities)\//,
    tests: /^(?:test|examples)\//,
  };
  return KINDS.map(({ name }) => [
    name,
    ...Object.values(groups).map(
      (of) => findings.filter((one) => one.kind === name && of.test(one.path)).length,
    ),
  ]);
}

function print(rows) {
  console.log('kind | docs | code and messages | tests');
  for (const row of rows) console.log(row.join(' | '));
}
