// Starts the reference server of the MCP project on a free port of the loopback interface, which it does not offer itself.
import net from "node:net";

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (_port, ...rest) {
  const server = listen.call(this, 0, "127.0.0.1", ...rest);
  server.once("listening", () => console.log(`listening on ${server.address().port}`));
  return server;
};
process.argv[2] ??= "streamableHttp";
await import("@modelcontextprotocol/server-everything/dist/index.js");
