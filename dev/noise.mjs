// `npm run noise`: every attack of one workspace on another, held to the promised figures; `-- -t <name>` runs one.
process.env.NOISE_SLACK = '1';
process.argv.splice(2, 0, '--project', 'noise');
await import('./test.mjs');
