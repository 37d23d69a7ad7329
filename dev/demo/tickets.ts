/** A ticket of the demo, and the queue that it belongs to. */
export interface Ticket {
  text: string;
  queue: string;
}

/** What a ticket is about, if no rule applies. The simulated model knows these. */
const topics = [
  { queue: 'billing', text: 'The invoice for order {n} shows the wrong amount.', sign: /invoice/i },
  { queue: 'delivery', text: 'My parcel with order {n} has not arrived.', sign: /parcel/i },
  { queue: 'account', text: 'I cannot change the address of my account {n}.', sign: /account/i },
] as const;

/** A rule of the house that a model cannot know. It applies to tickets with a sign, if the prompt states it. */
export interface Rule {
  queue: string;
  ticket: string;
  /** What a ticket has to which the rule applies. */
  sign: RegExp;
  /** What a line of a prompt has that states the rule. */
  statement: RegExp;
  line: string;
}

export const rules: readonly Rule[] = [
  {
    queue: 'legal',
    ticket: 'If nothing happens by Friday, you will hear from my lawyer.',
    sign: /lawyer/i,
    statement: /lawyer.*legal/i,
    line: 'Tickets that mention a lawyer go to legal.',
  },
  {
    queue: 'security',
    ticket: 'I also got a mail about a sign-in from another country.',
    sign: /sign-in from/i,
    statement: /sign-in.*security/i,
    line: 'Tickets about an unknown sign-in go to security.',
  },
  {
    queue: 'urgent',
    ticket: 'Nobody in our office of forty can work.',
    sign: /nobody in our office/i,
    statement: /office.*urgent/i,
    line: 'Tickets in which a whole office cannot work go to urgent.',
  },
  {
    queue: 'retention',
    ticket: 'Otherwise I end my subscription.',
    sign: /end my subscription/i,
    statement: /subscription.*retention/i,
    line: 'Tickets that threaten to end a subscription go to retention.',
  },
];

/** The prompt that the demo begins with. It states no rule. */
export const firstTemplate = [
  'Sort a support ticket into one queue: billing, delivery, account, legal, security, urgent or retention.',
  'Answer with the name of the queue alone.',
  '',
  'Ticket: {{ticket}}',
].join('\n');

/** Returns different tickets. Two of three have something that a rule applies to. */
export function tickets(count: number): Ticket[] {
  return Array.from({ length: count }, (_, index) => {
    const topic = topics[index % topics.length] ?? topics[0];
    const rule = index % 3 === 0 ? undefined : rules[Math.floor(index / 3) % rules.length];
    const text = `${topic.text.replace('{n}', String(4_000 + 7 * index))}${rule === undefined ? '' : ` ${rule.ticket}`}`;
    return { text, queue: rule?.queue ?? topic.queue };
  });
}

/** Returns the queue that the simulated model chooses for a ticket, by the rules that a prompt states. */
export function chooseQueue(prompt: string, ticket: string): string {
  const stated = statedRules(prompt).find(({ sign }) => sign.test(ticket));
  return stated?.queue ?? topics.find(({ sign }) => sign.test(ticket))?.queue ?? 'account';
}

/** Returns the rules that a prompt states. */
export function statedRules(prompt: string): Rule[] {
  const lines = prompt.split('\n').filter((line) => !line.startsWith('Ticket:'));
  return rules.filter(({ statement }) => lines.some((line) => statement.test(line)));
}
