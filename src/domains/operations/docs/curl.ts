import type { OperationOfDocument } from './document.ts';

/**
 * Returns a shell command that calls the operation. The reader sets `$URL` and the variable of the
 * credential.
 */
export function curlOf(method: string, path: string, operation: OperationOfDocument): string {
  const lines = [`curl ${methodFlag(method)}${quote(`$URL${filled(path, operation)}`, '"')}`];
  const credential = operation.security[0] && credentials[Object.keys(operation.security[0])[0] ?? ''];
  if (credential) lines.push(`-H "${credential}"`);
  const content = operation.requestBody?.content ?? {};
  const [type, media] = Object.entries(content).find(([, { example }]) => example !== undefined) ?? [];
  if (type !== undefined && media !== undefined) {
    lines.push(`-H "Content-Type: ${type}"`, `-d ${quote(JSON.stringify(media.example), "'")}`);
  }
  return lines.join(' \\\n  ');
}

const credentials: Readonly<Record<string, string>> = {
  apiKey: 'X-API-Key: $API_KEY',
  bearer: 'Authorization: Bearer $TOKEN',
  adminKey: 'X-Admin-Key: $ADMIN_API_KEY',
};

const methodFlag = (method: string) => (method === 'get' ? '' : `-X ${method.toUpperCase()} `);

function filled(path: string, { parameters }: OperationOfDocument): string {
  const exampleOf = (name: string) => parameters.find((parameter) => parameter.name === name)?.example ?? name;
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`);
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(exampleOf(name))));
  return query.length === 0 ? place : `${place}?${query.join('&')}`;
}

/**
 * Quotes text for a shell. Within single quotes a shell changes nothing; only a single quote needs
 * escaping.
 */
function quote(text: string, mark: '"' | "'"): string {
  return mark === '"' ? `"${text}"` : `'${text.replaceAll("'", `'\\''`)}'`;
}
