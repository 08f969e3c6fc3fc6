// Bundles the page into the Python package, which serves it without node.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const out = fileURLToPath(new URL("../src/roomful/web/static/", import.meta.url));
const here = fileURLToPath(new URL("page/", import.meta.url));

await mkdir(out, { recursive: true });
await build({
  entryPoints: [
    { in: `${here}src/main.tsx`, out: "page" },
    { in: `${here}styles/page.css`, out: "page" },
  ],
  outdir: out,
  bundle: true,
  conditions: ["source"],
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
});
for (const name of ["index.html", "icon.svg"]) await copyFile(here + name, out + name);
