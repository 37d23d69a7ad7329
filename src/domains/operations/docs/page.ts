/** Where the page gets its script and its style. */
export const docsPaths = { page: '/api/docs', script: '/api/docs/page.js', style: '/api/docs/page.css' } as const;

/**
 * Content-Security-Policy of the page: whatever it loads comes from this service. Swagger UI needs
 * no more than its own files, except for icons that its style has as `data:` images.
 */
export const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Returns the page that Swagger UI fills from the OpenAPI document. */
export function docsPage(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${docsPaths.style}">
</head>
<body>
<noscript>Without scripts there is the <a href="/api/openapi.json">OpenAPI document</a>.</noscript>
<main id="docs"></main>
<script src="${docsPaths.script}"></script>
</body>
</html>
`;
}

/**
 * Starts Swagger UI. Its defaults load nothing but the document, once its online validator is off.
 * Operations stay closed, because a hundred open ones take seconds to draw.
 */
export const startScript = `
SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#docs',
  validatorUrl: null,
  deepLinking: true,
  filter: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  showExtensions: true,
  displayRequestDuration: true,
});
`;
