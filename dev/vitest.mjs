// Runs vitest with the arguments. Then a few files that failed run once more, one at a time: many tests measure time,
// and beside other files that time is not theirs. A test that fails alone as well has failed.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** With more, the cause is not the machine. */
const filesAgainMax = 16;
const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const reportDir = mkdtempSync(join(tmpdir(), 'promptlane-test-'));
const reportFile = join(reportDir, 'report.json');
process.on('exit', () => rmSync(reportDir, { recursive: true, force: true }));
let isStopped = false;

const projects = projectsOf(process.argv.slice(2));
const code = await run([
  ...process.argv.slice(2).filter((arg) => !projects.includes(arg)),
  '--reporter=default',
  '--reporter=json',
  `--outputFile=${reportFile}`,
]);
const failed = code === 0 || isStopped ? [] : filesThatFailed();
if (failed.length === 0 || failed.length > filesAgainMax) process.exit(code);
console.log(
  `\nOnce more, one file after the other, because two files at a time share the machine:\n${failed.join('\n')}`,
);
const codeAlone = await run([...failed, '--no-file-parallelism']);
console.log(
  codeAlone === 0
    ? `\n! Failed beside other files, and passed alone:\n${failed.join('\n')}`
    : '\n✗ Failed twice, the second time alone.',
);
process.exit(codeAlone);

/** Returns the arguments that choose projects. Without a choice, all but `cluster`, which runs files of others again. */
function projectsOf(args) {
  const chosen = args.filter((arg, index) => /^--project\b/.test(arg) || args[index - 1] === '--project');
  return chosen.length === 0 ? ['--project=!cluster'] : chosen;
}

/** Runs vitest. Returns its exit code. */
function run(args) {
  const child = spawn(process.execPath, [vitest, 'run', ...projects, ...args], { stdio: 'inherit' });
  // A terminal also sends Ctrl-C to vitest. A signal to this process only must be passed on.
  const stop = (signal) => {
    isStopped = true;
    if (signal === 'SIGTERM') child.kill(signal);
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return new Promise((resolve) => {
    child.on('exit', (code) => {
      process.off('SIGINT', stop).off('SIGTERM', stop);
      resolve(code ?? 1);
    });
  });
}

/** None if vitest wrote no report, failed for another reason than a test, or ran one file. */
function filesThatFailed() {
  if (!existsSync(reportFile)) return [];
  const { numFailedTests, testResults } = JSON.parse(readFileSync(reportFile, 'utf8'));
  if (numFailedTests === 0 || testResults.length === 1) return [];
  return testResults.filter(({ status }) => status === 'failed').map(({ name }) => relative(root, name));
}
