// Log rows as DOM: numbers, times, ANSI colours, log commands with folding. Text nodes only; rows are hostile.

const LABELS = ["error", "warning", "notice", "debug"];
const HIDDEN = ["::add-matcher::", "##[add-matcher]", "::remove-matcher"];
const GROUP = ["::group::", "##[group]"];
const END_GROUP = ["::endgroup::", "##[endgroup]"];
const COMMAND = ["##[command]", "[command]"];
const ESCAPE = /\u001b(?:\[([0-9;:]*)([A-Za-z])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|.)/g;

/** Draws the rows of one step, in order, into one container. */
export class RowList {
  constructor(container) {
    this.container = container;
    this.open = container;
  }

  /** Append rows as the polling endpoint sent them: {index, message, timestamp}. */
  append(lines, started) {
    let target = this.open;
    let batch = document.createDocumentFragment();
    for (const line of lines) {
      const read = readCommand(line.message);
      if (read.kind === "hidden") continue;
      if (read.kind === "group") {
        target.append(batch);
        batch = document.createDocumentFragment();
        const group = document.createElement("details");
        const summary = document.createElement("summary");
        fillRow(summary, line, read, started);
        group.append(summary);
        this.container.append(group);
        target = group;
      } else if (read.kind === "endgroup") {
        target.append(batch);
        batch = document.createDocumentFragment();
        target = this.container;
      } else {
        batch.append(fillRow(document.createElement("div"), line, read, started));
      }
    }
    target.append(batch);
    this.open = target;
  }
}

/** Tell what a row is: {kind, text}. */
export function readCommand(message) {
  if (startsWithAny(message, HIDDEN) !== null) return { kind: "hidden", text: "" };
  let rest = startsWithAny(message, GROUP);
  if (rest !== null) return { kind: "group", text: rest };
  if (startsWithAny(message, END_GROUP) !== null) return { kind: "endgroup", text: "" };
  rest = startsWithAny(message, COMMAND);
  if (rest !== null) return { kind: "command", text: rest };
  for (const label of LABELS) {
    if (message.startsWith(`##[${label}]`)) return { kind: label, text: message.slice(label.length + 4) };
    const workflow = message.match(new RegExp(`^::${label}(?: [^]*?)?::`));
    if (workflow) return { kind: label, text: message.slice(workflow[0].length) };
  }
  return { kind: "row", text: message };
}

/** Append text to a node, with its ANSI colours as classes; other escape sequences are dropped. */
export function appendAnsi(node, text) {
  const visible = text.includes("\r") ? lastDrawn(text) : text;
  let style = {};
  let at = 0;
  for (const match of visible.matchAll(ESCAPE)) {
    appendStyled(node, visible.slice(at, match.index), style);
    at = match.index + match[0].length;
    if (match[2] === "m") style = restyle(style, match[1]);
  }
  appendStyled(node, visible.slice(at), style);
}

function fillRow(element, line, read, started) {
  element.className = `row ${read.kind === "notice" ? "notice-row" : read.kind}`;
  const number = document.createElement("span");
  number.className = "num";
  number.textContent = String(line.index);
  const time = document.createElement("time");
  const moment = new Date(line.timestamp * 1000);
  time.textContent = moment.toLocaleTimeString([], { hour12: false });
  time.title = `${moment.toISOString()}, ${Math.max(0, Math.floor(line.timestamp - started))} s into the step`;
  const text = document.createElement("span");
  text.className = "text";
  if (LABELS.includes(read.kind)) {
    const tag = document.createElement("span");
    tag.className = "tag";
    tag.textContent = `${read.kind[0].toUpperCase()}${read.kind.slice(1)}:`;
    text.append(tag);
  }
  appendAnsi(text, read.text);
  element.append(number, time, text);
  return element;
}

function startsWithAny(text, prefixes) {
  const found = prefixes.find((prefix) => text.startsWith(prefix));
  return found === undefined ? null : text.slice(found.length);
}

function lastDrawn(text) {
  const parts = text.split("\r").filter((part) => part !== "");
  return parts.length ? parts[parts.length - 1] : "";
}

function appendStyled(node, text, style) {
  if (!text) return;
  const classes = Object.keys(style).filter((key) => style[key] === true);
  if (style.fg !== undefined && !style.fg.startsWith?.("rgb")) classes.push(`fg-${style.fg}`);
  if (style.bg !== undefined && !style.bg.startsWith?.("rgb")) classes.push(`bg-${style.bg}`);
  if (!classes.length && style.fg === undefined && style.bg === undefined) {
    node.append(text);
    return;
  }
  const span = document.createElement("span");
  span.className = classes.join(" ");
  if (style.fg?.startsWith?.("rgb")) span.style.color = style.fg;
  if (style.bg?.startsWith?.("rgb")) span.style.backgroundColor = style.bg;
  span.textContent = text;
  node.append(span);
}

const FLAGS = { 1: "bold", 2: "faint", 3: "italic", 4: "underline" };
const FLAGS_OFF = { 22: ["bold", "faint"], 23: ["italic"], 24: ["underline"] };

function restyle(before, parameters) {
  let style = { ...before };
  const codes = parameters.split(/[;:]/).map((code) => Number(code || 0));
  for (let place = 0; place < codes.length; place += 1) {
    const code = codes[place];
    if (code === 0) style = {};
    else if (FLAGS[code]) style[FLAGS[code]] = true;
    else if (FLAGS_OFF[code]) for (const flag of FLAGS_OFF[code]) delete style[flag];
    else if (code >= 30 && code <= 37) style.fg = String(code - 30);
    else if (code >= 90 && code <= 97) style.fg = String(code - 82);
    else if (code >= 40 && code <= 47) style.bg = String(code - 40);
    else if (code >= 100 && code <= 107) style.bg = String(code - 92);
    else if (code === 39) delete style.fg;
    else if (code === 49) delete style.bg;
    else if (code === 38 || code === 48) place = extended(style, code === 38 ? "fg" : "bg", codes, place);
  }
  return style;
}

function extended(style, key, codes, place) {
  if (codes[place + 1] === 5) {
    style[key] = indexed(codes[place + 2] ?? 0);
    return place + 2;
  }
  if (codes[place + 1] === 2) {
    const [red, green, blue] = codes.slice(place + 2, place + 5).map((part) => Math.min(255, part || 0));
    style[key] = `rgb(${red ?? 0}, ${green ?? 0}, ${blue ?? 0})`;
    return place + 4;
  }
  return place + 1;
}

function indexed(code) {
  if (code < 16) return String(Math.max(0, code));
  if (code >= 232) {
    const grey = 8 + Math.min(23, code - 232) * 10;
    return `rgb(${grey}, ${grey}, ${grey})`;
  }
  const levels = [0, 95, 135, 175, 215, 255];
  const cube = code - 16;
  return `rgb(${levels[Math.floor(cube / 36)]}, ${levels[Math.floor(cube / 6) % 6]}, ${levels[cube % 6]})`;
}
