// The page's sources as a module that node can load: node itself reads no .tsx.

import { build, type Plugin } from "esbuild";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Files need a signed in client: here they are only named.
const BLOBS = `
  export const BlobImage = ({ url, alt }) => <span data-image={url}>{alt}</span>;
  export const BlobLink = ({ url, children }) => <span data-file={url}>{children}</span>;
  export const useUpload = () => () => Promise.reject(new Error("no files here"));
`;
const withoutFiles: Plugin = {
  name: "without-files",
  setup: (made) => made.onLoad({ filter: /page\/src\/blobs\.tsx$/ }, () => ({ contents: BLOBS, loader: "tsx" })),
};

export async function bundled<Module>(contents: string): Promise<Module> {
  const folder = await mkdtemp(join(tmpdir(), "roomful-page-"));
  const outfile = join(folder, "page.mjs");
  try {
    await build({
      stdin: { contents, resolveDir: import.meta.dirname, loader: "tsx" },
      outfile,
      bundle: true,
      conditions: ["source"],
      format: "esm",
      platform: "node",
      jsx: "automatic",
      logLevel: "error",
      plugins: [withoutFiles],
      define: { "process.env.NODE_ENV": '"production"' },
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    });
    return (await import(pathToFileURL(outfile).href)) as Module;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const TAGS = new Set(
  ("a article bdi blockquote br button caption circle code dd del dialog div dl dt em fieldset figcaption figure footer g h3 h4 h5 h6 header hr input label"
    + " legend li line ol option p path pre rect section select span strong svg table tbody td text textarea th thead title tr ul form").split(" "),
);
const ADDRESSES = new Set(["href", "src", "srcset", "action", "formaction", "poster", "background", "xlink:href", "ping", "srcdoc", "data"]);

/** What no words of others may become: other elements, handlers, addresses that are followed unasked. */
export function dangersIn(html: string): string[] {
  return (html.match(/<[a-zA-Z][^>]*>/g) ?? []).filter((tag) => {
    const name = /^<([^\s/>]+)/.exec(tag)![1]!;
    const attributes = [...tag.matchAll(/\s([^\s=>"]+)(?:="([^"]*)")?/g)];
    return !TAGS.has(name) || attributes.some(([, key = "", value = ""]) => isDangerous(name, key.toLowerCase(), value));
  });
}

function isDangerous(tag: string, key: string, value: string): boolean {
  if (key.startsWith("on")) return true;
  if (key === "style") return /url\(|expression|fixed|@import/i.test(value);
  return ADDRESSES.has(key) && !(tag === "a" && key === "href" && /^(?:https?:\/\/|mailto:)/.test(value));
}
