/** The style of the page. Its hash is in the Content-Security-Policy of the page. */
export const styles = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 17rem minmax(0, 56rem); gap: 2.5rem; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; box-sizing: border-box; padding: 1rem; border-right: 1px solid var(--line); font-size: 13px; }
nav ul { list-style: none; margin: 0 0 .8rem; padding: 0 0 0 .6rem; }
nav p { margin: .4rem 0; }
nav a { color: inherit; text-decoration: none; }
nav a:hover { text-decoration: underline; }
main { padding: 1rem 1rem 4rem 0; }
section { border-top: 1px solid var(--line); padding-bottom: 1.5rem; }
h2 { margin-top: 3rem; text-transform: capitalize; }
h3 { margin-bottom: .2rem; }
h4 { margin: 1.2rem 0 .3rem; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { background: var(--soft); padding: .7rem; overflow: auto; max-height: 26rem; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
summary { cursor: pointer; }
.access { opacity: .75; }
.route b { border: 1px solid var(--line); padding: 0 .4rem; }
@media (max-width: 60rem) { body { display: block; padding: 0 1rem; } nav { position: static; height: auto; border: 0; } }
`;
