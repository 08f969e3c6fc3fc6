// Files of this gateway. They are fetched with the caller's own token, so their addresses never go into a tag.

import type { ReactNode } from "react";

export interface Uploaded { blobId: string; url: string; mediaType: string; size: number }

export function BlobImage({ url, alt }: { url: string; alt: string }) {
  return <span className="blob-image" role="img" aria-label={alt} data-blob={url} />;
}

export function BlobLink({ url, children }: { url: string; children: ReactNode }) {
  return <span className="blob-link" data-blob={url}>{children}</span>;
}

export function useUpload(): (file: File) => Promise<Uploaded> {
  return () => Promise.reject(new Error("Files cannot be sent here yet."));
}
