// Starts the reference server of the MCP project on a free port of the loopback interface, which it does not offer
// itself, and counts its sessions from what it logs: GET /sessions answers how many are open.
import http from "node:http";
import net from "node:net";

process.argv[2] ??= "streamableHttp";
if (process.argv[2] !== "stdio") {
  const listen = net.Server.prototype.listen;
  const say = console.log.bind(console);
  net.Server.prototype.listen = function (_port, ...rest) {
    const server = listen.call(this, 0, "127.0.0.1", ...rest);
    server.once("listening", () => say(`listening on ${server.address().port}`));
    return server;
  };
  let open = 0;
  const count = (text) => {
    if (/^(Session initialized|Client Connected)/.test(text)) open += 1;
    if (/^(Transport closed|Client Disconnected)/.test(text)) open -= 1;
  };
  console.log = console.error = (text) => count(String(text));
  const emit = http.Server.prototype.emit;
  http.Server.prototype.emit = function (event, request, response, ...rest) {
    if (event === "request" && request.url === "/sessions") {
      response.end(String(open));
      return true;
    }
    return emit.call(this, event, request, response, ...rest);
  };
}
await import("@modelcontextprotocol/server-everything/dist/index.js");
