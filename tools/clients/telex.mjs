// Starts the built daemon and a stand-in for a model provider as separate processes, and stops them.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const key = "telex-clients-key-0123456789";
const binary = process.env.TELEX_BINARY;
if (!binary) throw new Error("set TELEX_BINARY to the built program; make test-clients does");

// freePort returns a port on which no program listens at the moment.
const freePort = () => new Promise((resolve, reject) => {
  const server = createServer();
  server.once("error", reject);
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

// launch starts a command of the telex binary and waits until its output contains line.
const launch = (args, directory, line) => new Promise((resolve, reject) => {
  const child = spawn(binary, args, {
    cwd: directory, stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: directory, STATE_DIRECTORY: join(directory, "state"), RUNTIME_DIRECTORY: directory },
  });
  let output = "";
  const hear = (data) => {
    output += data;
    if (output.includes(line)) resolve(child);
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  child.once("exit", (code) => reject(new Error(`telex ${args.join(" ")} exits ${code}:\n${output}`)));
});

const stop = (child) => new Promise((resolve) => {
  if (child.exitCode !== null) return resolve(child.exitCode);
  child.removeAllListeners("exit");
  child.once("exit", resolve);
  child.kill("SIGTERM");
});

// start starts both programs. It returns the daemon's URL, functions that ask the stand-in, and a function that ends both.
export async function start() {
  const directory = mkdtempSync(join(tmpdir(), "telex-clients-"));
  const [modelPort, port] = [await freePort(), await freePort()];
  const standin = await launch(["standin", "openai", "--listen", `127.0.0.1:${modelPort}`, "--key", "sk-standin", "--rate", "500"], directory, "stand-in on");
  writeFileSync(join(directory, "config.yaml"), `
models:
  - {name: main, base_url: "http://127.0.0.1:${modelPort}/v1", api_key: sk-standin, model: standin}
  - {name: second, base_url: "http://127.0.0.1:${modelPort}/v1", api_key: sk-standin, model: standin}
agent: {show_reasoning: summary}
platforms:
  api_server:
    listen: 127.0.0.1:${port}
    keys: [{name: clients, key: ${key}}, {name: poor, key: ${key}-poor, turns_per_minute: 1}]
admin: {listen: ""}
`);
  const daemon = await launch(["run", "--config", "config.yaml"], directory, "listening");
  const model = `http://127.0.0.1:${modelPort}`;
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    // answer returns the stand-in's answer to a question.
    answer: async (question) => (await fetch(`${model}/control/answer?question=${encodeURIComponent(question)}`)).text(),
    // requests returns the stand-in's records of the requests that it received.
    requests: async () => (await fetch(`${model}/control/requests`)).json(),
    end: async () => {
      const code = await stop(daemon);
      await stop(standin);
      rmSync(directory, { recursive: true, force: true });
      if (code !== 0) throw new Error(`the daemon exits ${code}`);
    },
  };
}
