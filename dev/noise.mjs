// `npm run noise`: runs every attack of one workspace on another and checks the promised figures.
// `-- -t <name>` runs one attack.
process.env.NOISE_SLACK = '1';
process.argv.splice(2, 0, '--project', 'noise');
await import('./test.mjs');
