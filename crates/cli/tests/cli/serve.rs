//! `serve`: the app is reached, told apart from a second one, and ends, or is killed, without losing a
//! run.

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

#[test]
fn files_of_models_are_opened_before_the_app_is_served() {
    let lab = Lab::new();
    lab.write("text.txt", "no model");
    lab.refuses("serve --port 0 --model nosuch", &["nosuch"]);
    lab.refuses("serve --port 0 --model text.txt", &["text.txt"]);
    assert!(!lab.exists("runs"), "it was not served");
    lab.run("solve --board 2x2 --out 2x2.solution").succeeds();
    let _server = Running::of(
        lab.command("serve --port 0 --model 2x2.solution")
            .spawn()
            .unwrap(),
    );
    let models = json_of(&ask(&address(&lab), "GET", "/api/v1/models", ""));
    assert_eq!(models[0]["kind"], "solution", "{models}");
}

/// What was answered before `kill -9` is there after it: the run with its blocks, and the game, of which
/// the client has the actions.
#[test]
fn kill_9_loses_nothing_that_was_acknowledged() {
    let lab = Lab::new();
    let server = Running::of(lab.command("serve --port 0").spawn().unwrap());
    let first = address(&lab);
    let run = r#"{"recipe": "quick", "set": {"board": "2x3", "network.tuples": "012 0134",
        "episodes": "100000000", "threads": "1", "block_games": "50", "checkpoint_seconds": "1"}}"#;
    let started = json_of(&ask(&first, "POST", "/api/v1/runs", run));
    assert_eq!(started["id"], "quick");
    let saved = "runs/quick/checkpoint.safetensors";
    wait_for("a checkpoint", || lab.exists(saved));
    let blocks = json_of(&ask(&first, "GET", "/api/v1/run/blocks?id=quick", ""));
    let told = blocks.as_array().unwrap().len();
    let game = json_of(&ask(
        &first,
        "POST",
        "/api/v1/games",
        r#"{"board": "2x3", "seed": 3}"#,
    ));
    let path = format!(
        "/api/v1/games/{}/auto",
        game["game"]["id"].as_str().unwrap()
    );
    let played = json_of(&ask(
        &first,
        "POST",
        &path,
        r#"{"model": "greedy", "moves": 5}"#,
    ));
    let kept = [&game, &played]
        .map(|it| it["tokens"].as_array().unwrap().clone())
        .concat();
    let kept: String = kept.iter().map(|it| it.as_str().unwrap()).collect();
    assert!(server.kill());

    // Its lock is gone with it; the address in the file is that of the next server.
    let server = Running::of(lab.command("serve --port 0").spawn().unwrap());
    wait_for("the next address", || address(&lab) != first);
    let second = address(&lab);
    let runs = json_of(&ask(&second, "GET", "/api/v1/runs", ""));
    assert_eq!(
        (&runs[0]["id"], &runs[0]["status"]),
        (&"quick".into(), &"stopped".into())
    );
    let blocks = json_of(&ask(&second, "GET", "/api/v1/run/blocks?id=quick", ""));
    assert!(
        blocks.as_array().unwrap().len() >= told,
        "{told} blocks were told"
    );
    let again = format!(r#"{{"board": "2x3", "actions": "{kept}"}}"#);
    let again = json_of(&ask(&second, "POST", "/api/v1/games", &again));
    for key in ["cells", "score", "moves"] {
        assert_eq!(again["game"][key], played["game"][key], "{key}");
    }
    let resumed = ask(&second, "POST", "/api/v1/run/resume", r#"{"id": "quick"}"#);
    assert!(resumed.starts_with("HTTP/1.1 200"), "{resumed}");
    drop(server);
}

/// The lines of `docs/api.md` for a shell: how they are asked, and each example by itself.
fn api_examples() -> Vec<String> {
    let page = include_str!("../../../../docs/api.md");
    let blocks = page.split("```\n").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines);
    let lines = lines.filter(|line| !line.starts_with("$ ") && !line.starts_with('{'));
    lines.map(str::to_owned).collect()
}

/// Every example of the page about the API works as it stands, in order.
#[test]
fn the_examples_of_the_api_page_run() {
    if Command::new("curl").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "there is no curl");
        eprintln!("SKIPPED: the examples of docs/api.md, because there is no curl");
        return;
    }
    let lab = Lab::new();
    lab.train("runs/four", 60, "");
    lab.train("runs/small", 60, "--board 2x3 --set tuples=012");
    lab.run("eval greedy --games 20 --records games.txt")
        .succeeds();
    let _server = Running::of(lab.command("serve --port 0").spawn().unwrap());
    let mut script = String::new();
    let mut examples = 0;
    for line in api_examples() {
        if line.starts_with("api=") {
            script += &format!("api=http://{}/api/v1\n", address(&lab));
            continue;
        }
        if line.starts_with("ask()") || line.starts_with("id=") {
            script += &format!("{line}\n");
            continue;
        }
        // The stream does not end, and a run is resumed once it has stopped.
        let line = match &line {
            line if line.contains("$api/events") => format!("timeout 0.3 {line} || true"),
            line if line.contains("run/resume") => format!(
                "for _ in $(seq 1000); do curl -s \"$api/run?id=quick\" | grep -q '\"stopped\"' && break; \
                 sleep 0.02; done; {line}"
            ),
            line if line.contains("sweep/curves") => continue,
            line => line.replace("games=1000", "games=20"),
        };
        examples += 1;
        script += &format!("echo '## {examples}'; {line}; echo\n");
    }
    assert!(examples > 20, "only {examples} examples were found");
    lab.write("examples.sh", &script);
    let mut bash = Command::new("bash");
    let done = bash.args(["-e", "examples.sh"]).current_dir(lab.path(""));
    let done = done.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    let faults = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{text}\n{faults}");
    for answer in text.split("## ").skip(1) {
        assert!(!answer.contains("{\"error\""), "{answer}\n{script}");
    }
}

/// The body of an answer.
fn json_of(answer: &str) -> serde_json::Value {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}
