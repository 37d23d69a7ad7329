// `npm run demo:optimize`, beside a running `npm run up`: optimizes a prompt with a simulated model.
import { fileURLToPath } from 'node:url';
import { register } from 'tsx/esm/api';

if (process.argv.length > 2) {
  console.log('npm run demo:optimize has no options. It needs npm run up in another terminal. README.md describes it.');
  process.exit(process.argv[2] === '--help' ? 0 : 2);
}
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
register();
const { demoOptimize } = await import('./demo/demo-optimize.ts');
process.exit(await demoOptimize(process.env));
