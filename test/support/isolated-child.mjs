// Replaces the process that runs one body alone. The id of the job contains the outcomes, one word for each attempt.
const tries = new Map();

process.on('message', ({ jobId }) => {
  const said = jobId.split('-')[0].split('.');
  const index = tries.get(jobId) ?? 0;
  tries.set(jobId, index + 1);
  const outcome = said[Math.min(index, said.length - 1)];
  if (outcome === 'exit') process.exit(3);
  if (outcome !== 'silence') process.send({ outcome, reason: 'a reason' });
});
process.on('disconnect', () => process.exit(0));
