import { pickOne, rolls } from './rolls.ts';
import type { SimulatedTask } from './simulated-task.ts';

interface Ticket {
  topic: string;
  plan: string;
  days: number;
  tone: string;
}

const topics = ['refund', 'login', 'crash', 'billing', 'sales', 'legal'] as const;
const teams: Readonly<Record<string, string>> = { refund: 'billing', login: 'access', crash: 'platform' };
const lateDays = 10;

/** Sends support tickets to teams. A quarter of the rows needs no rule. */
export const tickets: SimulatedTask<Ticket> = {
  name: 'tickets',
  variable: 'ticket',
  seedTemplate: 'Say which queue the support ticket goes to.\n{{ticket}}\nQueue:',
  rules: [
    {
      id: 'team',
      say: 'Refunds belong to billing, logins to access, crashes to platform; every other topic is its own team.',
      phrasings: [
        ['refund', 'billing', 'access', 'platform'],
        ['team', 'refunds to billing'],
      ],
    },
    {
      id: 'gold',
      say: 'Tickets of the gold plan get the suffix "/urgent".',
      phrasings: [['gold', '/urgent']],
    },
    {
      id: 'late',
      say: 'Tickets that are open for more than 10 days get the suffix "/late".',
      phrasings: [['10 days', '/late']],
    },
    {
      id: 'angry',
      say: 'Tickets with an angry tone go to the queue "care" alone.',
      phrasings: [['angry', '"care"']],
    },
  ],
  lures: [
    { id: 'calm', say: 'Read the ticket with care before you answer.', phrasings: [['read the ticket with care']] },
    { id: 'expert', say: 'You are an experienced dispatcher.', phrasings: [['experienced dispatcher']] },
    { id: 'explain', say: 'Give a reason for the queue.', phrasings: [['give a reason']] },
    { id: 'capitals', say: 'Write the queue in capital letters.', phrasings: [['capital letters']] },
  ],
  noise: 0.01,
  tokensMax: 300,
  rowText(index, seed) {
    const draw = rolls('ticket', seed, index);
    const topic = pickOne(topics, draw());
    const plan = draw() < 0.35 ? 'gold' : 'basic';
    const days = draw() < 0.35 ? 11 + Math.floor(draw() * 30) : 1 + Math.floor(draw() * lateDays);
    const tone = draw() < 0.2 ? 'angry' : 'calm';
    return `Ticket ${seed}-${index}: topic ${topic}, plan ${plan}, open for ${days} d, tone ${tone}.`;
  },
  findRows(text) {
    const found = text.matchAll(/Ticket (\d+-\d+): topic (\w+), plan (\w+), open for (\d+) d, tone (\w+)\./g);
    return [...found].map(({ 0: whole, 1: key = '', 2: topic = '', 3: plan = '', 4: days, 5: tone = '', index }) => ({
      ...{ key, text: whole, end: index + whole.length },
      facts: { topic, plan, days: Number(days), tone },
    }));
  },
  needs({ topic, plan, days, tone }) {
    if (tone === 'angry') return ['angry'];
    return [
      ...(teams[topic] === undefined ? [] : ['team']),
      ...(plan === 'gold' ? ['gold'] : []),
      ...(days > lateDays ? ['late'] : []),
    ];
  },
  answer(facts, follows) {
    const { topic, plan, days, tone } = facts;
    if (tone === 'angry' && follows.has('angry')) return 'care';
    const team = (follows.has('team') ? teams[topic] : undefined) ?? topic;
    const urgent = follows.has('gold') && plan === 'gold' ? '/urgent' : '';
    const late = follows.has('late') && days > lateDays ? '/late' : '';
    const queue = `${team}${urgent}${late}`;
    if (follows.has('explain')) return `${queue} (from the topic)`;
    return follows.has('capitals') ? queue.toUpperCase() : queue;
  },
};

/** Tickets with a prompt that states all rules and a model that is wrong by chance: no prompt is better. */
export const ticketsByChance: SimulatedTask<Ticket> = {
  ...tickets,
  name: 'tickets by chance',
  seedTemplate: [...tickets.rules.map(({ say }) => `- ${say}`), tickets.seedTemplate].join('\n'),
  noise: 0.3,
};
