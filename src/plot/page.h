// SPDX-License-Identifier: MIT
// What every report has: the head of the page with its looks, and the little program that sorts
// tables and zooms into figures. Both are XML, too, so that any reader can check them.
#ifndef SHOAL_PLOT_PAGE_H
#define SHOAL_PLOT_PAGE_H

static const char page_style[] =
    ":root{--paper:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--tint:#f6f8fa;--a:#0072b2;"
    "--b:#d55e00;--c:#009e73;--d:#8a4f7d;--e:#8c6a00}\n"
    "@media screen and "
    "(prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--soft:#9aa4af;"
    "--line:#30363d;--tint:#161b22;--a:#56b4e9;--b:#ff9d66;--c:#2fc79b;--d:#e58fc0;--e:#e6c84f}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:980px;padding:1rem 1.2rem 3rem;background:var(--paper);"
    "color:var(--ink);font:15px/1.5 Helvetica,Arial,sans-serif;overflow-wrap:anywhere}\n"
    "h1{font-size:1.6rem;margin:.6rem 0 0}h2{font-size:1.15rem;margin:2rem 0 .5rem;"
    "border-bottom:1px solid var(--line);padding-bottom:.2rem}\n"
    "p.soft,figcaption{color:var(--soft);margin:.2rem 0}\n"
    "pre{background:var(--tint);border:1px solid var(--line);border-radius:6px;padding:.7rem;"
    "overflow-x:auto;font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}\n"
    "pre.run{white-space:pre-wrap}.wide{overflow-x:auto}table{border-collapse:collapse;margin:."
    "3rem 0}\n"
    "th,td{text-align:left;padding:.2rem .9rem .2rem 0;border-bottom:1px solid var(--line);"
    "vertical-align:top;overflow-wrap:normal}th{color:var(--soft);font-weight:600}td.n,th.n{text-"
    "align:right;"
    "white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "th[data-sort]{cursor:pointer}th[data-sort]::after{content:' \\2195'}\n"
    "figure{margin:1rem 0}figure svg{max-width:100%;height:auto;border-radius:6px;"
    "touch-action:pan-x pan-y}figure "
    "img{max-width:100%;height:auto}.dark,.narrow-only{display:none}\n"
    "@media screen and (prefers-color-scheme:dark){.light{display:none}.dark{display:block}"
    ".dark.narrow-only{display:none}}\n"
    "@media screen and (max-width:560px){.wide-only,.dark.wide-only{display:none}"
    ".light.narrow-only{display:block}}\n"
    "@media screen and (max-width:560px) and (prefers-color-scheme:dark){.light.narrow-only"
    "{display:none}.dark.narrow-only{display:block}}\n"
    "@media print{body{max-width:none}h2{break-after:avoid}figure,tr{break-inside:avoid}"
    ".screen,th[data-sort]::after{display:none}pre{white-space:pre-wrap}}\n"
    ".k{color:var(--a);font-weight:600}.m{color:var(--c)}.s{color:var(--soft);font-style:italic}\n"
    "summary{cursor:pointer;color:var(--soft)}\n";

// Without < and &, which are marks of XML.
static const char page_program[] =
    "document.querySelectorAll('th[data-sort]').forEach(function(th){th.onclick=function(){\n"
    " var table=th.closest('table'),body=table.tBodies[0],at=th.cellIndex,"
    "up=th.dataset.sort!=='up';\n"
    " th.dataset.sort=up?'up':'down';\n"
    " var rows=Array.from(body.rows).map(function(r){var t=r.cells[at].textContent.trim(),"
    "n=parseFloat(t.replace(/,/g,''));return{r:r,k:isNaN(n)?t:n}});\n"
    " rows.sort(function(a,b){var o=a.k===b.k?0:a.k>b.k?1:-1;return up?o:-o});\n"
    " rows.forEach(function(x){body.appendChild(x.r)})}});\n"
    "document.querySelectorAll('figure svg').forEach(function(svg){\n"
    " var home=svg.getAttribute('viewBox'),drag=null;\n"
    " function box(){return svg.getAttribute('viewBox').split(' ').map(Number)}\n"
    " svg.addEventListener('wheel',function(e){if(!e.ctrlKey){return}e.preventDefault();\n"
    "  var b=box(),q=svg.getBoundingClientRect(),f=e.deltaY>0?1.2:1/1.2;\n"
    "  var x=b[0]+b[2]*(e.clientX-q.left)/q.width,y=b[1]+b[3]*(e.clientY-q.top)/q.height;\n"
    "  svg.setAttribute('viewBox',[x-(x-b[0])*f,y-(y-b[1])*f,b[2]*f,b[3]*f].join(' '))},"
    "{passive:false});\n"
    " svg.onpointerdown=function(e){if(e.pointerType!=='mouse'){return}drag={x:e.clientX,y:e."
    "clientY,b:box()}};\n"
    " svg.onpointermove=function(e){if(!drag){return}var q=svg.getBoundingClientRect(),b=drag.b;\n"
    "  svg.setAttribute('viewBox',[b[0]-(e.clientX-drag.x)*b[2]/q.width,"
    "b[1]-(e.clientY-drag.y)*b[3]/q.height,b[2],b[3]].join(' '))};\n"
    " svg.onpointerup=svg.onpointerleave=function(){drag=null};\n"
    " svg.ondblclick=function(){svg.setAttribute('viewBox',home)}});\n"
    "document.body.dataset.ready='yes';\n";

#endif
