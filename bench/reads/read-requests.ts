/** Path and query below the project, by what they measure. `turn` is a different number each time. */
export function listRequests(): Readonly<Record<string, (turn: number) => string>> {
  const list = (query: string) => `executions?limit=50&${query}`;
  const filter = (node: object) => list(`filter=${encodeURIComponent(JSON.stringify(node))}`);
  const sorts = [
    '-started_at',
    'started_at',
    '-duration_ms',
    'duration_ms',
    '-cost',
    'cost',
    '-total_tokens',
    'total_tokens',
  ];
  return {
    ...Object.fromEntries(sorts.map((sort) => [`sort ${sort}`, () => list(`sort=${sort}`)])),
    'status common': () => list('status=ok'),
    'status rare': () => list('status=error'),
    'name common': () => list('name=support'),
    'name absent': (turn) => list(`name=none-${turn}`),
    'model common': () => list('model=gpt-4.1'),
    'model absent': (turn) => list(`model=none-${turn}`),
    provider: () => list('provider=openai'),
    prompt_id: (turn) => list(`prompt_id=prm_${turn % 50}`),
    'prompt_id and prompt_version': (turn) => list(`prompt_id=prm_${turn % 50}&prompt_version=3`),
    'session_id absent': (turn) => list(`session_id=none-${turn}`),
    user_id: (turn) => list(`user_id=user_${turn % 5_000}`),
    environment: () => list('environment=bench'),
    service: () => list('service=support-agent'),
    tag: (turn) => list(`tag=team-${turn % 20}`),
    'tag twice': (turn) => list(`tag=team-${turn % 20}&tag=release-${turn % 100}`),
    min_duration_ms: () => list('min_duration_ms=59900'),
    max_duration_ms: () => list('max_duration_ms=500'),
    min_cost: () => list('min_cost=0.0499'),
    max_cost: () => list('max_cost=0.0001'),
    min_tokens: () => list('min_tokens=6000'),
    has_error: () => list('has_error=true'),
    has_feedback: () => list('has_feedback=true'),
    'attr common': (turn) => list(`attr.enduser.plan=${['free', 'pro', 'team'][turn % 3]}`),
    'attr integer': (turn) => list(`attr.thread.id=${turn % 64}`),
    'attr rare': (turn) => list(`attr.user.id=user_${turn % 5_000}`),
    'attr absent': (turn) => list(`attr.app.request.id=none-${turn}`),
    'attr key absent': (turn) => list(`attr.none-${turn}=x`),
    'q common': () => list('q=an'),
    'q two words': () => list('q=tion%20quibefi'),
    'q absent': (turn) => list(`q=absent${turn}`),
    'filter of three leaves': () =>
      filter({
        and: [
          { field: 'cost', op: 'gt', value: '0.01' },
          {
            or: [
              { field: 'tag', op: 'in', value: ['team-1', 'team-2'] },
              { field: 'status', op: 'eq', value: 'error' },
            ],
          },
        ],
      }),
    include_total: () => list('include_total=true'),
    'window of an hour': () =>
      list(
        `from=${new Date(Date.now() - 27 * 3_600_000).toISOString()}&to=${new Date(Date.now() - 26 * 3_600_000).toISOString()}`,
      ),
  };
}

/** Reads of one execution. Each read uses a different execution. */
export function detailRequests(traceIds: readonly string[]): Readonly<Record<string, (turn: number) => string>> {
  const of = (turn: number) => `executions/${traceIds[turn % traceIds.length]}`;
  return {
    detail: of,
    hierarchy: (turn) => `${of(turn)}/hierarchy`,
    timeline: (turn) => `${of(turn)}/timeline`,
  };
}
