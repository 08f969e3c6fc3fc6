// Unpacks Chromium beside its package, once, and prints where it and what it needs are.
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { inflate } from "@sparticuz/chromium";

const modules = fileURLToPath(new URL("node_modules/", import.meta.url));
const packed = `${modules}@sparticuz/chromium/bin/`;
const unpacked = `${modules}.chromium`;

// The machine's fonts, and those that come along where it has none.
const FONTS = `<?xml version="1.0"?>
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>${unpacked}/fonts</dir>
  <cachedir>${unpacked}/fonts-cache</cachedir>
</fontconfig>
`;

// Whoever is first wins: a half unpacked browser is never seen, also when several processes begin at once.
async function unpack() {
  const partial = `${unpacked}.${process.pid}`;
  await mkdir(partial);
  process.env.TMPDIR = partial; // where the package unpacks to
  const archives = ["chromium.br", "al2023.tar.br", "fonts.tar.br", "swiftshader.tar.br"];
  await Promise.all(archives.map((name) => inflate(packed + name)));
  await writeFile(`${partial}/fonts.conf`, FONTS);
  await rename(partial, unpacked).catch((error) => {
    if (!existsSync(unpacked)) throw error;
  });
  await rm(partial, { recursive: true, force: true });
}

if (!existsSync(unpacked)) await unpack();
const environment = { LD_LIBRARY_PATH: `${unpacked}/al2023/lib`, FONTCONFIG_FILE: `${unpacked}/fonts.conf` };
console.log(JSON.stringify({ executable: `${unpacked}/chromium`, environment }));
