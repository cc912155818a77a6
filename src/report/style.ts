/** The page's complete style sheet; it loads no fonts or images. Colour-blind readers can tell blue, teal and orange apart. */
export const STYLE = `
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b2430;--dim:#5b6776;--line:#dde2e8;--warn:#8a4b00;--warnbg:#fff4e0;--bad:#a1160a;--badbg:#fdebe9;--rows:#5470a8;--inserted:#0f8a7e;--updated:#3f78d0;--deleted:#d9641e;--time:#7a86a0}
@media (prefers-color-scheme:dark){:root{--bg:#12161c;--card:#1b212a;--ink:#e6eaf0;--dim:#9ba7b6;--line:#313a46;--warn:#ffc878;--warnbg:#38290f;--bad:#ff9d92;--badbg:#3d1815;--rows:#84a0dc;--inserted:#38c2b3;--updated:#6ea2f5;--deleted:#f28d4e;--time:#93a0b8}}
*{box-sizing:border-box}
body{margin:0;padding:1rem;background:var(--bg);color:var(--ink);font:16px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
main{max-width:66rem;margin:0 auto}
h1{font-size:1.4rem;margin:.2rem 0}
h2{font-size:1.15rem;margin:0}
h3{font-size:.95rem;margin:1rem 0 .3rem}
p{margin:.3rem 0}
.dim{color:var(--dim);font-size:.875rem}
section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem;margin:1rem 0}
nav{display:flex;flex-wrap:wrap;gap:.4rem;margin:.6rem 0}
nav a,.tag{border:1px solid var(--line);border-radius:1rem;padding:.1rem .6rem;background:var(--card);color:inherit;text-decoration:none;font-size:.875rem}
.tag.warn{background:var(--warnbg);color:var(--warn);border-color:transparent}
header.of{display:flex;flex-wrap:wrap;gap:.2rem .8rem;align-items:baseline;justify-content:space-between}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(6.5rem,1fr));gap:.6rem;margin:.8rem 0}
dl.texts{grid-template-columns:repeat(auto-fit,minmax(min(15rem,100%),1fr))}
dt{color:var(--dim);font-size:.8rem}
dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}
dd.text{font-size:.9rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(16rem,100%),1fr));gap:1rem;margin:1rem 0}
figure{margin:0;min-width:0}
figcaption,.ends{display:flex;justify-content:space-between;gap:.5rem;font-size:.8rem;color:var(--dim)}
figcaption b{color:var(--ink)}
svg{display:block;width:100%;height:4.5rem}
.axis{stroke:var(--line);stroke-width:1}
.hit{fill:transparent}
g:hover .hit{fill:var(--line)}
.rows{fill:var(--rows)}.inserted{fill:var(--inserted);background:var(--inserted)}.updated{fill:var(--updated);background:var(--updated)}.deleted{fill:var(--deleted);background:var(--deleted)}.time{fill:var(--time)}
.legend{font-size:.8rem;color:var(--dim)}
.legend i{display:inline-block;width:.7em;height:.7em;border-radius:2px;margin:0 .25em 0 .5em}
ul{margin:.3rem 0;padding-left:1.2rem}
.box{border-radius:.4rem;padding:.5rem .8rem;margin:.6rem 0}
.box.warn{background:var(--warnbg);color:var(--warn)}
.box.bad{background:var(--badbg);color:var(--bad)}
.box h3{margin:0}
details{margin:.6rem 0 0}
summary{cursor:pointer;color:var(--dim);font-size:.9rem}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.85rem;width:100%;overflow-wrap:normal}
th,td{text-align:right;padding:.25rem .5rem;border-bottom:1px solid var(--line);white-space:nowrap;font-variant-numeric:tabular-nums}
th{color:var(--dim);font-weight:600}
th:first-child,td:first-child{text-align:left}
@media print{body{background:none}section{break-inside:avoid}}
`;
