// A TypeScript test against mockgitea: Node's own test runner and fetch are all it needs.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";

const WORKFLOW = "on: push\njobs:\n  build:\n    runs-on: linux\n    steps: [{run: echo hello}]\n";

type Json = Record<string, any>;

let server: ChildProcess | undefined;
let mock: { runner_url: string; control_url: string; registration_token: string };

before(async () => {
  let ready = process.env.MOCKGITEA_READY_FILE ?? "";
  if (!ready) {
    ready = join(mkdtempSync(join(tmpdir(), "mockgitea-")), "ready.json");
    const options = ["serve", "--port", "0", "--control-port", "0", "--ready-file", ready];
    server = spawn(process.env.MOCKGITEA ?? "mockgitea", options, { stdio: ["ignore", "ignore", "inherit"] });
  }
  for (const deadline = Date.now() + 60_000; !existsSync(ready); await setTimeout(20)) {
    assert.ok(Date.now() < deadline, "mockgitea did not start"); // the file appears once everything answers
  }
  mock = JSON.parse(readFileSync(ready, "utf8"));
});

after(() => {
  server?.kill("SIGTERM");
});

async function call(method: string, url: string, body?: Json, headers: Record<string, string> = {}): Promise<Json> {
  const answer = await fetch(url, {
    method,
    headers: { "content-type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${url}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

function control(method: string, path: string, body?: Json): Promise<Json> {
  return call(method, `${mock.control_url}/control/v1${path}`, body);
}

/** Wait for calls of a runner; fails with the nearest misses when they do not come. */
async function waitFor(match: Json, n = 1): Promise<void> {
  const verdict = await control("POST", "/journal/wait", { match, n, within_s: 10 });
  assert.ok(verdict.is_met, verdict.explanation);
}

test("a runner finishes its task", async () => {
  const run = await control("POST", "/enqueue", { repository: "demo/demo", workflow: WORKFLOW });
  const runner = await control("POST", "/runners", { name: "ts-runner", labels: ["linux"] });

  // Put your runner here. This one plays the protocol by hand, over Connect with JSON.
  const identity = { "x-runner-uuid": runner.uuid, "x-runner-token": runner.token };
  const rpc = (method: string, message: Json): Promise<Json> =>
    call("POST", `${mock.runner_url}/api/actions/runner.v1.RunnerService/${method}`, message, identity);
  const { task } = await rpc("FetchTask", { tasksVersion: 0 });
  await rpc("UpdateLog", { taskId: task.id, rows: [{ content: "hello" }], noMore: true });
  await rpc("UpdateTask", { state: { id: task.id, result: "RESULT_SUCCESS" } });

  await waitFor({ method: "UpdateTask", runner: "ts-runner", request: { "state.result": "success" } });
  assert.equal((await control("GET", `/runs/${run.run_id}`)).status, "success");
  assert.deepEqual((await control("GET", "/audit")).findings, []);
});
