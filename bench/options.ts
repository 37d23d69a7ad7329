import { parseArgs } from 'node:util';
import { defaultScenarioNames, type ScenarioName, scenarioNames } from './scenarios/names.ts';

/** A running instance. All its processes are on this machine. */
export interface RunningInstance {
  url: string;
  apiKey: string;
  projectId: string;
  clickhouseUrl: string;
}

export interface Options {
  scenarios: readonly ScenarioName[];
  /** How long a scenario sends. Each scenario has its own default. */
  seconds: number | undefined;
  spansPerBody: number;
  /** Number of connections of the closed loop. */
  connections: number;
  jsonFile: string | undefined;
  htmlFile: string | undefined;
  /** Run the TypeScript sources instead of the production build. */
  fromSource: boolean;
  profile: boolean;
  running: RunningInstance | undefined;
}

/** Every trace has this many spans. */
export const spansPerTrace = 10;

export const help = `npm run bench -- [options]      prints a load report as JSON to standard output

  --scenario a,b        list of ${scenarioNames.join(', ')} (default: all except records, render, reads, analytics and growth, in this order)
  --seconds n           how long each scenario sends (default: depends on the scenario)
  --spans-per-body n    a multiple of ${spansPerTrace} (default 100)
  --connections n       number of connections of the closed loop (default 8)
  --json file           also write the report to this file
  --html file           also write the report as a page with plots to this file
  --source              run the TypeScript sources instead of the production build
  --profile             profile the CPU of API and worker, and report the result
  --url --key --project --clickhouse
                        use a running instance on loopback instead of starting one; give all four
  --help

The command starts its own engines, API and worker on free ports, and removes them at the end.`;

/** Reads the command line. Returns undefined for --help. Throws an Error of one line that names the invalid option. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      scenario: { type: 'string' },
      seconds: { type: 'string' },
      'spans-per-body': { type: 'string', default: '100' },
      connections: { type: 'string', default: '8' },
      json: { type: 'string' },
      html: { type: 'string' },
      source: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      url: { type: 'string' },
      key: { type: 'string' },
      project: { type: 'string' },
      clickhouse: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const running = readRunning([values.url, values.key, values.project, values.clickhouse]);
  if (running !== undefined && values.profile)
    throw new Error('--profile needs an instance that the bench starts itself');
  return {
    scenarios: readScenarios(values.scenario),
    seconds: values.seconds === undefined ? undefined : whole('--seconds', values.seconds, 1, 600),
    spansPerBody: whole('--spans-per-body', values['spans-per-body'], spansPerTrace, 5_000, spansPerTrace),
    connections: whole('--connections', values.connections, 1, 1_000),
    jsonFile: values.json,
    htmlFile: values.html,
    fromSource: values.source,
    profile: values.profile,
    running,
  };
}

function readScenarios(text: string | undefined): readonly ScenarioName[] {
  if (text === undefined) return defaultScenarioNames;
  const asked = text.split(',');
  const unknown = asked.find((name) => !scenarioNames.some((known) => known === name));
  if (unknown !== undefined) throw new Error(`--scenario ${unknown} is none of ${scenarioNames.join(', ')}`);
  return scenarioNames.filter((name) => asked.includes(name));
}

function whole(option: string, text: string, min: number, max: number, step = 1): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max && value % step === 0) return value;
  const multiple = step === 1 ? '' : ` that is a multiple of ${step}`;
  throw new Error(`${option} ${text} is not a whole number from ${min} to ${max}${multiple}`);
}

function readRunning(values: readonly (string | undefined)[]): RunningInstance | undefined {
  if (values.every((value) => value === undefined)) return undefined;
  const [url, apiKey, projectId, clickhouseUrl] = values;
  if (!url || !apiKey || !projectId || !clickhouseUrl) {
    throw new Error('--url, --key, --project and --clickhouse are needed together');
  }
  return { url: loopback('--url', url), apiKey, projectId, clickhouseUrl: loopback('--clickhouse', clickhouseUrl) };
}

/** Checks that the target of the load is this machine. */
function loopback(option: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:') throw new Error(`${option} ${text} is not an http:// URL`);
  if (!/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) {
    throw new Error(
      `${option} ${text} is not on loopback (127.0.0.0/8, [::1] or localhost); load is for this machine only`,
    );
  }
  return url.href.replace(/\/$/, '');
}
