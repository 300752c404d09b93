// One Connect call per line of standard input, one answer per line of standard output.
// Usage: node peer.mjs BASE_URL DESCRIPTOR_SET_FILE proto|json identity|gzip
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createFileRegistry, fromBinary, fromJson, toJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport } from "@connectrpc/connect-node";

const [baseUrl, descriptors, format, compression] = process.argv.slice(2);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(descriptors)));
const transport = createConnectTransport({
  baseUrl,
  httpVersion: "1.1",
  useBinaryFormat: format === "proto",
  acceptCompression: compression === "gzip" ? [compressionGzip] : [],
  sendCompression: compression === "gzip" ? compressionGzip : undefined,
  compressMinBytes: 0,
});

async function answer({ service, method, request, headers, timeoutMs }) {
  const found = registry.getService(service).methods.find((one) => one.name === method);
  try {
    const message = fromJson(found.input, request);
    const got = await transport.unary(found, undefined, timeoutMs || undefined, headers, message);
    return { message: toJson(found.output, got.message), headers: Object.fromEntries(got.header.entries()) };
  } catch (cause) {
    const error = ConnectError.from(cause);
    return { code: Code[error.code].replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase(), text: error.rawMessage };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + "\n");
}
