// Loaded before a worker. It simulates a fault of the product that one body triggers during decoding.
const effects = {
  'poison:throw': () => {
    throw new Error('a fault in the decoder');
  },
  'poison:exit': () => process.exit(1),
  'poison:loop': () => {
    for (;;);
  },
};

const parse = JSON.parse;
JSON.parse = (text, reviver) => {
  for (const [mark, effect] of Object.entries(effects)) if (String(text).includes(mark)) effect();
  return parse(text, reviver);
};
