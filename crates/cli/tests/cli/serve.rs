//! `serve`: the app is reached, told apart from a second one, and ends without losing a run.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::common::{Lab, Running, wait_for};

/// The address of the server of a folder, from its lock.
fn address(lab: &Lab) -> String {
    let read = || std::fs::read_to_string(lab.path("runs/.serve.lock")).unwrap_or_default();
    wait_for("the address", || read().ends_with('/'));
    read().replace("http://", "").replace('/', "")
}

/// The answer to a request.
fn ask(address: &str, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_app_is_served_once_and_a_run_is_saved_at_its_end() {
    let lab = Lab::new();
    let mut command = lab.command("serve --port 0");
    let server = Running::of(command.stdout(Stdio::piped()).spawn().unwrap());
    let address = address(&lab);
    assert!(ask(&address, "GET", "/", "").contains("<title>Afterstate</title>"));
    lab.refuses(
        "serve --port 0",
        &["another process serves", &address, "--runs"],
    );
    let port = address.rsplit(':').next().unwrap();
    lab.refuses(
        &format!("serve --runs other --port {port}"),
        &["cannot listen on", "--port"],
    );
    let run = r#"{"recipe": "quick", "set": {"board": "2x3", "network.tuples": "012 0134",
        "episodes": "100000000", "threads": "1", "block_games": "50"}}"#;
    let answer = ask(&address, "POST", "/api/v1/runs", run);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    wait_for("a block", || lab.exists("runs/quick/blocks.csv"));
    let id = server.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.unwrap().success());
    let output = server.output();
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("http://{address}/")), "{text}");
    let runs = lab.run("runs --json").json();
    assert_eq!(runs[0]["status"], "stopped", "{runs}");
    assert!(runs[0]["games"].as_u64() > Some(0));
}
