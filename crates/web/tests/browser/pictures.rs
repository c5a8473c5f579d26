//! Pictures of every page for the documents, light and dark:
//!
//! ```text
//! cargo nextest run -p afterstate-web --test browser pictures --run-ignored only
//! ```
//!
//! It trains the models that they show, takes half a minute, and writes `docs/app/`.
//! `AFTERSTATE_PICTURES` names another folder, which also gets every page on a phone.

use std::path::{Path, PathBuf};

use afterstate_web::{Config, start};
use serde_json::json;

use crate::browser::{Browser, Driver};
use crate::{sweep, train_run};

/// The most bytes of a picture.
const LARGEST: usize = 180_000;

/// A wide screen and a phone.
const SIZES: [(&str, u32, u32); 2] = [("", 1180, 780), ("phone-", 390, 844)];

/// A page: its name, its address, what is true once it shows everything, and what is done then.
struct Page {
    name: &'static str,
    address: String,
    ready: &'static str,
    then: &'static str,
}

fn page(name: &'static str, address: &str, ready: &'static str, then: &'static str) -> Page {
    Page {
        name,
        address: address.to_owned(),
        ready,
        then,
    }
}

fn pages() -> Vec<Page> {
    let board = "512,128,16,2/64,32,8,4/4,8,2,0/2,0,0,0";
    let position = board.replace(',', "%2C").replace('/', "%2F");
    vec![
        page(
            "play",
            &format!("play?position={position}"),
            "document.querySelectorAll('#values .is-best').length === 1",
            "",
        ),
        page(
            "analyse",
            &format!("analyse?position={position}"),
            "document.querySelector('#searched')?.innerText === '4ply'",
            "",
        ),
        page(
            "review",
            "analyse?review=kept&step=150",
            "document.querySelector('#searched')?.innerText === '3ply' && document.querySelector('#review')",
            "",
        ),
        page(
            "inside",
            &format!("inside?position={position}"),
            "document.querySelectorAll('.lookup').length >= 32",
            "",
        ),
        page(
            "lesson",
            "inside",
            "document.querySelector('#lesson-tab')",
            "document.querySelector('#lesson-tab').click(); \
             setTimeout(() => scrollTo(0, document.querySelector('.backup').offsetTop - 130), 500)",
        ),
        page(
            "train",
            "train",
            "document.querySelector('#sweeps .plot svg path') && document.querySelector('.plot svg path')",
            "[...document.querySelectorAll('#runs input')].slice(0, 2).forEach((one) => one.checked || one.click())",
        ),
        page(
            "sweeps",
            "train",
            "document.querySelector('#sweeps .plot svg path')",
            "scrollTo(0, document.querySelector('#sweeps').offsetTop - 70)",
        ),
        page(
            "judge",
            "judge",
            "document.querySelector('#judge-files')",
            "const records = JSON.parse(localStorage.getItem('afterstate.review')); \
             const files = new DataTransfer(); \
             files.items.add(new File([records], 'first.txt')); \
             files.items.add(new File([records.replace('#L', '#R')], 'second.txt')); \
             const input = document.querySelector('#judge-files'); input.files = files.files; \
             input.dispatchEvent(new Event('change'))",
        ),
    ]
}

const SWEEP: &str = r#"
name = "lambda"
recipe = "quick"
set = ["board=3x3", "tuples=012 345 0134 1245", "episodes=3000", "block_games=200"]
seeds = [1, 2, 3]
games = 300

[[variant]]
name = "TD(0)"
set = ["lambda=0"]

[[variant]]
name = "TD(0.5)"
set = ["lambda=0.5"]

[[variant]]
name = "TD(0.9)"
set = ["lambda=0.9"]
"#;

/// Trains the models that play, and a sweep.
fn prepare(folder: &Path) {
    sweep(&folder.join("lambda"), SWEEP);
    for (name, tuples) in [("rows", "tuples=lines"), ("quick", "tuples=4x6")] {
        let set = [tuples, "episodes=4000", "threads=2", "block_games=100"];
        train_run(&folder.join(name), &set);
    }
}

fn target() -> (PathBuf, bool) {
    match std::env::var_os("AFTERSTATE_PICTURES") {
        Some(folder) => (folder.into(), true),
        None => {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            (root.join("docs/app"), false)
        }
    }
}

#[test]
#[ignore = "writes the pictures of the documents"]
fn pictures() {
    let driver = Driver::start().expect("chromium with its chromedriver");
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let (to, phones) = target();
    std::fs::create_dir_all(&to).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let config = Config {
            port: 0,
            ..Config::new(folder.path())
        };
        let server = start(&config).unwrap();
        let home = format!("http://{}", server.address);
        let browser = driver.browser().await;
        let hidden = json!({ "hidden": true });
        browser.tool("Emulation.setScrollbarsHidden", hidden).await;
        keep_a_game(&browser, &home).await;
        for (prefix, width, height) in SIZES.into_iter().take(if phones { 2 } else { 1 }) {
            browser.size(width, height).await;
            for page in pages() {
                for scheme in ["light", "dark"] {
                    browser.colours(scheme).await;
                    let name = format!("{prefix}{}-{scheme}.png", page.name);
                    take(&browser, &home, &page, &to.join(name)).await;
                }
            }
        }
        browser.driver.clone().quit().await.unwrap();
        server.stop();
    });
}

/// A game that the model has played, and settings that show much.
async fn keep_a_game(browser: &Browser, home: &str) {
    browser.open(&format!("{home}/judge")).await;
    let script = "const ask = async (path, body) => (await fetch('/api/v1/' + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json(); \
        const game = await ask('games', { seed: 7 }); const path = 'games/' + game.game.id; \
        for (let turn = 'slide'; turn === 'slide'; ) turn = (await ask(path + '/auto', { moves: 5000, model: 'rows' })).game.turn; \
        const record = await (await fetch('/api/v1/' + path + '/record')).text(); \
        localStorage.setItem('afterstate.review', JSON.stringify(record)); \
        localStorage.setItem('afterstate.play.values', 'true')";
    browser
        .script(&format!("return (async () => {{ {script} }})()"))
        .await;
}

async fn take(browser: &Browser, home: &str, page: &Page, path: &Path) {
    browser.open(&format!("{home}/{}", page.address)).await;
    browser.until(page.ready).await;
    browser.script(page.then).await;
    // Transitions end, and answers come.
    tokio::time::sleep(std::time::Duration::from_millis(900)).await;
    let bytes = browser.driver.screenshot_as_png().await.unwrap();
    assert!(
        bytes.len() < LARGEST,
        "{}: {} bytes",
        path.display(),
        bytes.len()
    );
    std::fs::write(path, bytes).unwrap();
}
