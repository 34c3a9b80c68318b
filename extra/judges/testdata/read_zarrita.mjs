// read_zarrita.mjs RAW STORE VARIABLE...: arrays of a Zarr group as zarrita has them. STORE is a URL or a directory; the
// package is looked for in $BLOBIO_ZARRITA/node_modules. What is written is that of answer.py. Numbers are little-endian on the machines where this runs.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import path from "node:path";

// load imports a package of that directory, which is not where this script lies.
async function load(name, entry = ".") {
  const dir = path.join(process.env.BLOBIO_ZARRITA, "node_modules", name);
  const { exports } = JSON.parse(readFileSync(path.join(dir, "package.json"), "utf8"));
  return import(pathToFileURL(path.join(dir, exports[entry].import)).href);
}

const zarr = await load("zarrita");
const [raw, place, ...names] = process.argv.slice(2);
const store = place.startsWith("http") ? new zarr.FetchStore(place) : new (await load("@zarrita/storage", "./fs")).default(place);
const group = await zarr.open(await zarr.withConsolidatedMetadata(store), { kind: "group" });

const types = { int8: "i1", int16: "i2", int32: "i4", int64: "i8", uint8: "u1", uint16: "u2", uint32: "u4", uint64: "u8", float32: "f4", float64: "f8", "v2:S1": "S1" };
const vars = [];
writeFileSync(raw, "");
for (const name of names) {
  const a = await zarr.open(group.resolve(name), { kind: "array" });
  const got = a.shape.length ? await zarr.get(a) : await a.getChunk([]);
  appendFileSync(raw, new Uint8Array(got.data.buffer, got.data.byteOffset, got.data.byteLength));
  vars.push({ name, type: types[a.dtype] ?? a.dtype, shape: a.shape, dims: a.dimensionNames ?? [], atts: [] });
}
console.log(JSON.stringify({ vars, atts: [], dims: [] }));
