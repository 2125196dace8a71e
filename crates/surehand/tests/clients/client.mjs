// Lists and calls over stdio with the TypeScript SDK and prints what came of it as JSON.
//
// usage: client.mjs sdk|client TOOL ARGUMENTS_JSON COMMAND [ARGUMENT...]
// NODE_MODULES names the folder with the packages: `sdk` is @modelcontextprotocol/sdk 1.x, `client` is
// @modelcontextprotocol/client 2.x.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [which, tool, argumentsText, command, ...args] = process.argv.slice(2);
const resolve = createRequire(join(process.env.NODE_MODULES, "..", "from-here.js")).resolve;
const load = (name) => import(pathToFileURL(resolve(name)).href);

const isFirst = which === "sdk";
const { Client } = await load(isFirst ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const { StdioClientTransport } = await load(
  isFirst ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio",
);

const client = new Client(
  { name: "surehand-test", version: "1" },
  isFirst ? { capabilities: {} } : { capabilities: {}, versionNegotiation: { mode: "auto" } },
);
await client.connect(new StdioClientTransport({ command, args, env: process.env }));

const progress = [];
const options = { onprogress: (report) => progress.push(report) };
const call = (name, given) => {
  const request = { name, arguments: given };
  return isFirst ? client.callTool(request, undefined, options) : client.callTool(request, options);
};
const tools = (await client.listTools()).tools.map((listed) => listed.name);
const result = await call(tool, JSON.parse(argumentsText));
const unknown = await call("no_such_tool", {}).catch((error) => ({ refused: String(error.message) }));
console.log(JSON.stringify({ tools, result, unknown, progress }));
await client.close();
process.exit(0);
