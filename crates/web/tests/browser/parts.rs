//! Each part of the app, as people use it.

use std::path::Path;

use afterstate_web::{Config, Running, start};

use crate::analyse::{analyse, review};
use crate::browser::{Browser, Driver};
use crate::inside::{inside, lessons_agree, states_and_other_bases};
use crate::left_out;
use crate::play::{kept, own_game, phone, play, threes_by_hand, tiles_by_hand};
use crate::train::{judge, train};

pub(crate) fn serve(runs: &Path, port: u16) -> Running {
    let config = Config {
        port,
        ..Config::new(runs)
    };
    start(&config).unwrap()
}

pub(crate) async fn all(driver: &Driver, runs: &Path) {
    if std::env::var_os("AFTERSTATE_AXE").is_none() {
        left_out("accessibility, because AFTERSTATE_AXE does not name axe-core");
    }
    let server = serve(runs, 0);
    let home = format!("http://{}", server.address);
    let browser = driver.browser().await;
    browser.colours("light").await;
    play(&browser, &home).await;
    tiles_by_hand(&browser, &home).await;
    threes_by_hand(&browser, &home).await;
    kept(&browser, &home).await;
    own_game(&browser, &home).await;
    phone(&browser, &home).await;
    analyse(&browser, &home).await;
    review(&browser, &home).await;
    inside(&browser, &home).await;
    states_and_other_bases(&browser).await;
    lessons_agree(&browser, &home).await;
    train(&browser, &home).await;
    judge(&browser, &home).await;
    dark(&browser, &home).await;
    let server = killed_and_back(&browser, &home, server, runs).await;
    browser.driver.clone().quit().await.unwrap();
    server.stop();
}

/// Dark as the system, then by the switch; every part with enough contrast.
async fn dark(browser: &Browser, home: &str) {
    browser.colours("dark").await;
    browser.open(&format!("{home}/play")).await;
    browser
        .until("document.querySelectorAll('.tile').length >= 2")
        .await;
    let ground = "return getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.script(ground).await, "rgb(15, 20, 25)");
    for (part, ready) in [
        (
            "play",
            "document.querySelector('#model-says')?.innerText.includes('lines')",
        ),
        ("analyse", "document.querySelector('#moves-table')"),
        ("inside", "document.querySelectorAll('.lookup').length > 8"),
        ("train", "document.querySelector('.open-run')"),
        ("judge", "document.querySelector('.drop')"),
    ] {
        browser
            .open(&format!("{home}/{part}?game=2048&board=4x4&model=lines"))
            .await;
        browser.until(ready).await;
        if part == "analyse" {
            browser.click("#edit-board").await;
        }
        browser.is_accessible(&format!("{part}, dark")).await;
    }
    browser.open(&format!("{home}/inside")).await;
    browser.click("#lesson-tab").await;
    browser
        .until("document.querySelector('#lesson-step')?.innerText.startsWith('move 1')")
        .await;
    browser.is_accessible("a lesson, dark").await;
    browser.click("#theme").await;
    assert_ne!(browser.script(ground).await, "rgb(15, 20, 25)");
    browser.click("#theme").await;
    assert_eq!(browser.script(ground).await, "rgb(15, 20, 25)");
    browser.click("#theme").await;
    browser.colours("light").await;
}

/// The server ends under the page, which says so, and goes on with the same game when it is back.
async fn killed_and_back(browser: &Browser, home: &str, server: Running, runs: &Path) -> Running {
    browser.open(&format!("{home}/play?board=4x4")).await;
    browser
        .until("document.querySelectorAll('.tile').length >= 2")
        .await;
    // A game under way is given up by the second key.
    browser.keys("nn").await;
    let moves = |count: u32| format!("document.querySelector('#moves').innerText === '{count}'");
    browser.until(&moves(0)).await;
    browser.keys(" ").await;
    browser.until(&moves(1)).await;
    browser.keys(" ").await;
    browser.until(&moves(2)).await;
    let score = browser.text("#score").await;
    let board = browser
        .script("return document.querySelector('.board').getAttribute('aria-label')")
        .await;
    let port = server.address.port();
    server.stop();
    browser.keys(" ").await;
    browser
        .until("!document.querySelector('#offline').hidden")
        .await;
    let server = serve(runs, port);
    browser
        .until("document.querySelector('#offline').hidden")
        .await;
    browser.keys(" ").await;
    browser
        .until("document.querySelector('#moves').innerText === '3'")
        .await;
    browser.keys("u").await;
    browser
        .until("document.querySelector('#moves').innerText === '2'")
        .await;
    assert_eq!(browser.text("#score").await, score);
    let now = browser
        .script("return document.querySelector('.board').getAttribute('aria-label')")
        .await;
    assert_eq!(now, board);
    // Analyse asks again for what it could not ask, and a part that could not be loaded is shown.
    browser.open(&format!("{home}/analyse")).await;
    browser
        .until("document.querySelector('#moves-table')")
        .await;
    server.stop();
    browser.enter("#board-text", "2 2 4\n. . .").await;
    browser.click("#read-board").await;
    browser
        .until("document.querySelector('#fault').innerText.includes('does not answer')")
        .await;
    let server = serve(runs, port);
    browser
        .until("document.querySelector('#fault').innerText === '' && document.querySelectorAll('.tile').length === 3")
        .await;
    server.stop();
    browser.click("a[href='/judge']").await;
    browser
        .until("document.querySelector('main').innerText.includes('does not answer')")
        .await;
    let server = serve(runs, port);
    browser
        .until("document.querySelector('#judge-files')")
        .await;
    server
}
