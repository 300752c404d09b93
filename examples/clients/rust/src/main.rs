//! A Rust check against mockgitea with the standard library alone; a real project would use its HTTP and JSON crates.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs, process};

const WORKFLOW: &str = r"on: push\njobs:\n  build:\n    runs-on: linux\n    steps: [{run: echo hello}]\n";

/// A server of this program's own; dropping it ends the process.
struct Mock {
    server: Option<Child>,
    runner_url: String,
    control_url: String,
}

impl Mock {
    fn start() -> Mock {
        let mut server = None;
        let ready = env::var("MOCKGITEA_READY_FILE").map(PathBuf::from).unwrap_or_else(|_| {
            let path = env::temp_dir().join(format!("mockgitea-ready-{}.json", process::id()));
            let command = env::var("MOCKGITEA").unwrap_or_else(|_| "mockgitea".into());
            let arguments = ["serve", "--port", "0", "--control-port", "0", "--ready-file"];
            server = Some(Command::new(command).args(arguments).arg(&path).spawn().expect("mockgitea is installed"));
            path
        });
        let text = wait_for_file(&ready); // it appears once everything answers
        Mock { server, runner_url: text_field(&text, "runner_url"), control_url: text_field(&text, "control_url") }
    }

    fn control(&self, method: &str, path: &str, body: &str) -> String {
        call(method, &format!("{}/control/v1{path}", self.control_url), &[], body)
    }

    /// Wait for calls of a runner; panics with the nearest misses when they do not come.
    fn wait_for(&self, matcher: &str) {
        let verdict = self.control("POST", "/journal/wait", &format!(r#"{{"match": {matcher}, "within_s": 10}}"#));
        assert!(verdict.contains(r#""is_met":true"#), "{verdict}");
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn wait_for_file(path: &Path) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Ok(text) = fs::read_to_string(path) {
            return text;
        }
        assert!(Instant::now() < deadline, "mockgitea did not start");
        sleep(Duration::from_millis(20));
    }
}

/// One request on a connection of its own; the answer's body, or a panic for an error answer.
fn call(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> String {
    let (host, path) = url.trim_start_matches("http://").split_once('/').expect("an absolute URL");
    let mut stream = TcpStream::connect(host).expect("the server answers");
    let mut head = format!("{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    head += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("the request is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer is text");
    let (head, content) = answer.split_once("\r\n\r\n").expect("an HTTP answer");
    assert!(head.starts_with("HTTP/1.1 2"), "{method} {url}: {answer}");
    content.to_string()
}

/// The value of a text or number field; enough of JSON for this program.
fn text_field(json: &str, name: &str) -> String {
    let (_, rest) = json.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("no {name} in {json}"));
    let rest = rest.trim_start().trim_start_matches('"');
    rest.split(['"', ',', '}']).next().unwrap_or_default().to_string()
}

fn main() {
    let mock = Mock::start();
    let run = mock.control("POST", "/enqueue", &format!(r#"{{"repository": "demo/demo", "workflow": "{WORKFLOW}"}}"#));
    let runner = mock.control("POST", "/runners", r#"{"name": "rust-runner", "labels": ["linux"]}"#);

    // Put your runner here. This one plays the protocol by hand, over Connect with JSON.
    let (uuid, token) = (text_field(&runner, "uuid"), text_field(&runner, "token"));
    let rpc = |method: &str, message: &str| {
        let url = format!("{}/api/actions/runner.v1.RunnerService/{method}", mock.runner_url);
        call("POST", &url, &[("x-runner-uuid", &uuid), ("x-runner-token", &token)], message)
    };
    let fetched = rpc("FetchTask", r#"{"tasksVersion": 0}"#);
    let task = text_field(fetched.split_once("\"task\":").expect("a task was assigned").1, "id");
    rpc("UpdateLog", &format!(r#"{{"taskId": {task}, "rows": [{{"content": "hello"}}], "noMore": true}}"#));
    rpc("UpdateTask", &format!(r#"{{"state": {{"id": {task}, "result": "RESULT_SUCCESS"}}}}"#));

    mock.wait_for(r#"{"method": "UpdateTask", "runner": "rust-runner", "request": {"state.result": "success"}}"#);
    let state = mock.control("GET", &format!("/runs/{}", text_field(&run, "run_id")), "");
    assert_eq!(text_field(&state, "status"), "success");
    assert!(mock.control("GET", "/audit", "").contains(r#""findings":[]"#));
    println!("the runner finished its task, and the audit is clean");
}
