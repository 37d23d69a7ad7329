import { describe, expect, it } from 'vitest';
import { readUpConfig } from '../../../dev/up/config.ts';

describe('readUpConfig', () => {
  it('of an empty environment is the documented default', () => {
    expect(readUpConfig({}, '/checkout')).toEqual({
      host: '127.0.0.1',
      port: 8787,
      llmBaseUrl: 'http://127.0.0.1:8791/v1',
      dataDir: '/checkout/.data',
      url: 'http://127.0.0.1:8787',
      externalUrls: {},
    });
  });

  it.each(['0', '65536', '80.5', 'http', '-1'])('with PORT %s is refused, quoting it', (port) => {
    expect(() => readUpConfig({ PORT: port }, '/')).toThrow(
      `PORT: must be a whole number from 1 to 65535, not "${port}"`,
    );
  });

  it.each([
    ['0.0.0.0', 'http://127.0.0.1:1'],
    ['::', 'http://[::1]:1'],
    ['::1', 'http://[::1]:1'],
    ['localhost', 'http://localhost:1'],
  ])('with HOST %s is reached at %s', (host, url) => {
    expect(readUpConfig({ HOST: host, PORT: '1' }, '/').url).toBe(url);
  });

  it('with the URL of an engine leaves that engine to others', () => {
    expect(readUpConfig({ REDIS_URL: 'redis://r:1', DATABASE_URL: '' }, '/').externalUrls).toEqual({
      redis: 'redis://r:1',
    });
  });
});
