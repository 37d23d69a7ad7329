import { contentEtag } from '../../http/etag.ts';
import { docsPage } from './docs/page.ts';

export interface MadeDocument {
  /** As bytes, because a string would be encoded for every answer. */
  content: Uint8Array;
  etag: string;
}

/** The API description as a document and as a page. Each is created once per process. */
export interface Documents {
  openapi: () => MadeDocument;
  page: () => MadeDocument;
  /**
   * Creates both, which blocks the thread for a third of a second. Call it before requests arrive.
   */
  make: () => void;
}

/**
 * Creates the documents on first use.
 * @param openapi returns the document of all endpoints; called on first use
 */
export function createDocuments(openapi: () => object): Documents {
  const documents = {
    openapi: madeOnce(() => JSON.stringify(openapi())),
    page: madeOnce(() => docsPage(openapi())),
  };
  return {
    ...documents,
    make: () => {
      documents.openapi();
      documents.page();
    },
  };
}

function madeOnce(make: () => string): () => MadeDocument {
  let made: MadeDocument | undefined;
  return () => {
    if (made === undefined) {
      const content = make();
      made = { content: Buffer.from(content), etag: contentEtag(content) };
    }
    return made;
  };
}
