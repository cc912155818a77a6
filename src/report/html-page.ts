import { html, type Markup, raw } from './markup.js';

/** A self-contained page without scripts or network access: its content security policy forbids both. */
export function htmlPage(title: Markup, main: Markup): string {
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"><meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark"><title>${title}</title><style>${raw(STYLE)}</style></head>
<body><main>${main}</main></body></html>
`;
  return page.text;
}

/** The page's complete style sheet; it loads no fonts or images. Colour-blind readers can tell blue, teal and orange apart. */
const STYLE = `
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b2430;--dim:#5b6776;--line:#dde2e8;--warn:#8a4b00;--warnbg:#fff4e0;--bad:#a1160a;--badbg:#fdebe9;--ok:#1d6b4f;--okbg:#e8f4ef;--rows:#5470a8;--inserted:#0f8a7e;--updated:#3f78d0;--deleted:#d9641e;--time:#7a86a0;--missed:#8a94a3}
@media (prefers-color-scheme:dark){:root{--bg:#12161c;--card:#1b212a;--ink:#e6eaf0;--dim:#9ba7b6;--line:#313a46;--warn:#ffc878;--warnbg:#38290f;--bad:#ff9d92;--badbg:#3d1815;--ok:#8fd8b8;--okbg:#15312a;--rows:#84a0dc;--inserted:#38c2b3;--updated:#6ea2f5;--deleted:#f28d4e;--time:#93a0b8;--missed:#7f8b9b}}
*{box-sizing:border-box}
body{margin:0;padding:1rem;background:var(--bg);color:var(--ink);font:16px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
main{max-width:66rem;margin:0 auto}
h1{font-size:1.4rem;margin:.2rem 0}
h2{font-size:1.05rem;margin:0;display:inline}
h3{font-size:.95rem;margin:1rem 0 .3rem}
p{margin:.3rem 0}
a{color:inherit;text-decoration-color:var(--dim);text-underline-offset:.15em}
.dim{color:var(--dim);font-size:.875rem;font-weight:400}
section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.7rem 1rem;margin:.6rem 0}
.sum{display:flex;flex-wrap:wrap;gap:.4rem;list-style:none;padding:0;margin:.6rem 0}
.sum li,.tag{border-radius:1rem;padding:.05rem .6rem;font-size:.875rem;white-space:nowrap}
.ok{--tone:var(--ok);--tonebg:var(--okbg)}.warn{--tone:var(--warn);--tonebg:var(--warnbg)}.bad{--tone:var(--bad);--tonebg:var(--badbg)}
.sum li,.tag,.box{color:var(--tone);background:var(--tonebg)}
table{border-collapse:collapse;font-size:.9rem;width:100%}
th,td{text-align:left;padding:.35rem .5rem;vertical-align:baseline;font-variant-numeric:tabular-nums}
thead th{color:var(--dim);font-size:.8rem;font-weight:600}
.all{padding:.4rem .6rem}
.all tbody{border-top:1px solid var(--line)}
.all tbody.bad,.all tbody.warn{border-left:4px solid var(--tone)}
.all .n{text-align:right;white-space:nowrap}
.all td:nth-child(5){min-width:9.5rem;overflow-wrap:normal}
.all th:first-child{min-width:8rem}
.all thead th:nth-child(3){text-align:right}
.all td:nth-child(4){white-space:nowrap}
.why td{padding-top:0;padding-bottom:.6rem;font-size:.875rem}
.trend{white-space:nowrap;width:1%}
.spark{display:inline-block;width:7.5rem;height:1.75rem;vertical-align:middle}
.spark path{fill:none;stroke-width:3}
.spark path.axis{stroke-width:1}
.most{display:inline-block;width:4.6rem;padding-left:.4rem;font-size:.75rem;color:var(--dim)}
.axis{stroke:var(--line);stroke-width:1}
path.changes{stroke:var(--rows)}path.failed{stroke:var(--bad)}.spark path.missed{stroke:var(--missed);stroke-width:1.2}
i.changes{background:var(--rows)}i.failed,rect.failed{background:var(--bad);fill:var(--bad)}rect.missed{fill:var(--missed)}i.missed{background:var(--missed)}
summary{cursor:pointer}
section>details>summary{padding:.25rem 0}
details details{margin:.6rem 0 0}
details details summary{color:var(--dim);font-size:.9rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(6.5rem,1fr));gap:.6rem;margin:.8rem 0}
dl.texts{grid-template-columns:repeat(auto-fit,minmax(min(15rem,100%),1fr))}
dt{color:var(--dim);font-size:.8rem}
dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}
dd.text{font-size:.9rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(16rem,100%),1fr));gap:1rem;margin:1rem 0}
figure{margin:0;min-width:0}
figcaption,.ends{display:flex;justify-content:space-between;gap:.5rem;font-size:.8rem;color:var(--dim)}
figcaption b{color:var(--ink)}
figure svg{display:block;width:100%;height:5rem}
.hit{fill:transparent}
g:hover .hit{fill:var(--line)}
.rows{fill:var(--rows)}.inserted{fill:var(--inserted);background:var(--inserted)}.updated{fill:var(--updated);background:var(--updated)}.deleted{fill:var(--deleted);background:var(--deleted)}.time{fill:var(--time)}
.legend{font-size:.8rem;color:var(--dim)}
.legend i{display:inline-block;width:.7em;height:.7em;border-radius:2px;margin:0 .25em 0 .5em}
.legend i.missed{width:.2em}
ul{margin:.3rem 0;padding-left:1.2rem}
.box{border-radius:.4rem;padding:.5rem .8rem;margin:.6rem 0}
.box h3{margin:0}
.scroll{overflow-x:auto;max-width:100%}
.check-passed{fill:var(--ok)}.check-warned,.check-accepted{fill:var(--warn)}.check-failed{fill:var(--bad)}.check-skipped{fill:var(--missed)}
.runs{font-size:.85rem;overflow-wrap:normal}
.runs th,.runs td{text-align:right;padding:.25rem .5rem;border-bottom:1px solid var(--line);white-space:nowrap}
.runs th:first-child,.runs td:first-child,.runs .cause,.runs th:nth-child(2),.runs td:nth-child(2){text-align:left}
.runs .bad td:nth-child(2){color:var(--bad);font-weight:600}
.runs .cause{white-space:normal;min-width:20rem}
.runs .none td{color:var(--dim)}
@media (max-width:60rem){
.all th,.all td{padding:.35rem .3rem}
.all th:first-child{min-width:5rem}
.all .tag{white-space:normal;overflow-wrap:normal}
.all td:nth-child(4){white-space:normal;min-width:8.6rem}
.all td:nth-child(4) .dim{display:inline-block}
.all td:nth-child(5){min-width:6rem}
.most{display:block;width:auto;padding:0;line-height:1}
}
@media (max-width:44rem){
body{padding:.6rem}
section{padding:.6rem .7rem}
.all thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.all table,.all tbody{display:block}
.all tbody{padding-left:.4rem}
.all tr{display:grid;grid-template-columns:1fr auto;gap:0 .6rem;padding:.35rem 0;border-top:1px solid var(--line);align-items:baseline}
.all tbody tr:first-child,.all tr.why{border-top:0}
.all tr.why{display:block;padding-top:0}
.all th,.all td{display:block;padding:0}
.all th,.all td:nth-child(4),.all td:nth-child(5){grid-column:1}
.all td:nth-child(2){grid-column:2;grid-row:1;text-align:right}
.all td:nth-child(3){grid-column:1;grid-row:2;text-align:left;font-size:.875rem}
.all td.n::after{content:" rows"}
.all td:nth-child(4){grid-row:3;font-size:.875rem}
.all td:nth-child(5){grid-row:4;font-size:.875rem}
.all td.none{display:none}
.all .trend{grid-column:2;grid-row:2/4;align-self:center;text-align:right;width:auto}
}
@media print{body{background:none}section{break-inside:avoid}}
`;
