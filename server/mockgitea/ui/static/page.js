// The live part of a run's and a job's page: asks for state and rows once a second, as Gitea's own page does.
import { RowList } from "./rows.js";

const POLL_MS = 1000;
const CLICKABLE = new Set(["running", "success", "failure", "cancelled"]);
const WORDS = {
  unknown: "Unknown", success: "Success", failure: "Failure", cancelled: "Canceled", skipped: "Skipped",
  waiting: "Waiting", running: "Running", blocked: "Blocked", cancelling: "Canceling",
};

const page = document.getElementById("page");
const steps = [];
let timer = 0;
let inFlight = null;
let follow = false;

function one(selector, within = page) {
  return within.querySelector(selector);
}

function csrfHeaders() {
  const token = document.querySelector('meta[name="_csrf"]');
  return token ? { "X-Csrf-Token": token.content } : {};
}

function showStatus(element, status) {
  const badge = document.createElement("span");
  badge.className = `status status-${status}`;
  const mark = document.createElement("span");
  mark.className = "mark";
  mark.setAttribute("aria-hidden", "true");
  const word = document.createElement("span");
  word.className = "word";
  word.textContent = WORDS[status] ?? status;
  badge.append(mark, word);
  element.replaceChildren(badge);
}

function replaceStatus(holder, status) {
  if (holder.dataset.shown === status) return;
  holder.dataset.shown = status;
  const old = one(".status", holder);
  const place = document.createElement("span");
  showStatus(place, status);
  if (old) old.replaceWith(place.firstChild);
  else holder.prepend(place.firstChild);
}

function notice(text) {
  const element = one("[data-notice]");
  if (element.textContent !== text) element.textContent = text;
}

async function post(url, body) {
  return fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...csrfHeaders() },
    body: JSON.stringify(body),
    signal: inFlight?.signal,
  });
}

function request() {
  if (page.dataset.kind === "run") return {};
  return { logCursors: steps.map((step, index) => ({ step: index, cursor: step.cursor, expanded: step.expanded })) };
}

async function tick() {
  if (inFlight) return;
  const mine = new AbortController();
  inFlight = mine;
  try {
    const response = await post(page.dataset.poll, request());
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const answer = await response.json();
    if (inFlight !== mine) return;
    show(answer);
    notice("");
    if (answer.state.run.done) stop();
  } catch (error) {
    if (error.name !== "AbortError") notice(`Cannot refresh: ${error.message}. Trying again.`);
  } finally {
    if (inFlight === mine) inFlight = null;
  }
}

function tickNow() {
  inFlight?.abort();
  inFlight = null;
  tick();
}

function stop() {
  clearInterval(timer);
  timer = 0;
  page.dataset.done = "true";
}

function show(answer) {
  showRun(answer.state.run);
  if (page.dataset.kind === "job") {
    showJob(answer.state.currentJob);
    showLogs(answer.logs.stepsLog ?? []);
  }
}

function showRun(run) {
  const status = one("[data-run-status]");
  if (status) replaceStatus(status, run.status);
  if (run.duration !== undefined && one("[data-run-duration]")) one("[data-run-duration]").textContent = run.duration;
  const items = [...page.querySelectorAll(".jobs > li")];
  if (items.length !== run.jobs.length || items.some((item, at) => item.dataset.job !== String(run.jobs[at].id))) {
    // Another attempt, or jobs that were not there: the links have to be made anew.
    if (!run.done && page.dataset.kind === "run") location.reload();
  } else {
    items.forEach((item, at) => {
      replaceStatus(one("a", item), run.jobs[at].status);
      one(".duration", item).textContent = run.jobs[at].duration;
    });
  }
  const current = run.jobs.find((job) => String(job.id) === page.dataset.current);
  if (current && one("[data-job-status]")) {
    replaceStatus(one("[data-job-status]"), current.status);
    one("[data-job-duration]").textContent = current.duration;
  }
  showActions(run);
}

function showActions(run) {
  const actions = one("[data-actions]");
  if (!actions) return;
  let any = false;
  for (const button of actions.querySelectorAll("button")) {
    button.hidden = !run[button.dataset.flag];
    any ||= !button.hidden;
  }
  actions.hidden = !any;
}

function showJob(job) {
  const detail = job.detail ?? (job.details ?? []).map(asText).join(" ");
  one("[data-detail]").textContent = Object.values(WORDS).includes(detail) ? "" : detail;
  const list = one("[data-steps]");
  if (!steps.length && job.steps.length) list.replaceChildren();
  job.steps.forEach((state, index) => {
    if (!steps[index]) steps[index] = newStep(list, index);
    updateStep(steps[index], state);
  });
}

function asText(html) {
  return new DOMParser().parseFromString(html, "text/html").body.textContent;
}

function newStep(list, index) {
  const item = document.createElement("li");
  item.className = "step";
  const head = document.createElement("button");
  head.type = "button";
  head.className = "step-head";
  head.setAttribute("aria-expanded", "false");
  head.setAttribute("aria-controls", `rows-${index}`);
  const turn = document.createElement("span");
  turn.className = "turn";
  turn.setAttribute("aria-hidden", "true");
  turn.textContent = "▸";
  const badge = document.createElement("span");
  badge.className = "badge";
  const name = document.createElement("span");
  name.className = "name";
  const duration = document.createElement("span");
  duration.className = "duration";
  head.append(turn, badge, name, duration);
  const rows = document.createElement("div");
  rows.className = "rows";
  rows.id = `rows-${index}`;
  rows.hidden = true;
  item.append(head, rows);
  list.append(item);
  const step = { cursor: null, expanded: false, status: "", followed: false, head, turn, badge, name, duration, rows, list: new RowList(rows) };
  head.addEventListener("click", () => toggle(step));
  return step;
}

function updateStep(step, state) {
  if (step.status !== state.status) {
    step.status = state.status;
    showStatus(step.badge, state.status);
    step.head.disabled = !CLICKABLE.has(state.status) && !step.expanded;
  }
  step.name.textContent = state.summary;
  step.duration.textContent = state.duration;
  if (follow && !step.followed && (state.status === "running" || state.status === "failure")) {
    step.followed = true;
    if (!step.expanded) toggle(step);
  }
}

function toggle(step) {
  step.expanded = !step.expanded;
  step.head.setAttribute("aria-expanded", String(step.expanded));
  step.turn.textContent = step.expanded ? "▾" : "▸";
  step.rows.hidden = !step.expanded;
  if (step.expanded) queueMicrotask(tickNow);
}

function showLogs(logs) {
  for (const log of logs) {
    const step = steps[log.step];
    // The page's own cursor decides: an answer to an older request must not be drawn twice.
    if (!step || (step.cursor ?? 0) + log.lines.length !== log.cursor) continue;
    step.cursor = log.cursor;
    step.list.append(log.lines, log.started);
  }
}

async function act(button) {
  const response = await fetch(`${one("[data-actions]").dataset.actions}/${button.dataset.action}`, {
    method: "POST",
    headers: csrfHeaders(),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    notice(answer.errorMessage ?? answer.message ?? `The server answered ${response.status}.`);
  } else if (answer.redirect?.startsWith("/") && !answer.redirect.startsWith("//")) {
    location.assign(answer.redirect);
  } else if (button.dataset.action.startsWith("rerun")) {
    location.reload();
  } else {
    tickNow();
  }
}

function remember(name, checked) {
  try {
    localStorage.setItem(`mockgitea-${name}`, checked ? "yes" : "no");
  } catch { /* private windows may forbid it */ }
}

function recall(name, otherwise) {
  try {
    return (localStorage.getItem(`mockgitea-${name}`) ?? otherwise) === "yes";
  } catch {
    return otherwise === "yes";
  }
}

function begin() {
  const followBox = one('[data-option="follow"]');
  const timesBox = one('[data-option="times"]');
  if (followBox) {
    follow = followBox.checked = recall("follow", "no");
    followBox.addEventListener("change", () => {
      follow = followBox.checked;
      remember("follow", follow);
    });
    timesBox.checked = recall("times", "yes");
    page.classList.toggle("hide-times", !timesBox.checked);
    timesBox.addEventListener("change", () => {
      page.classList.toggle("hide-times", !timesBox.checked);
      remember("times", timesBox.checked);
    });
  }
  for (const button of page.querySelectorAll("[data-action]")) {
    button.addEventListener("click", () => act(button).catch((error) => notice(error.message)));
  }
  timer = setInterval(tick, POLL_MS);
  tick();
}

begin();
