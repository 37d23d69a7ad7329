import { contentEtag } from '../../http/etag.ts';
import { docsPage } from './docs/page.ts';

export interface MadeDocument {
  /** As bytes: a text would be encoded for every answer. */
  content: Uint8Array;
  etag: string;
}

/** The interface as a document and as a page, each made once and the same until the process ends. */
export interface Documents {
  openapi: () => MadeDocument;
  page: () => MadeDocument;
  /** Makes both, which takes a third of a second of this thread: to be called before requests come. */
  make: () => void;
}

/** @param openapi the document of all endpoints, asked when it is needed first */
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
