//! Each part of the app, as people use it.

use std::path::Path;

use afterstate_web::{Config, Running, start};

use crate::browser::{Browser, Driver};
use crate::left_out;

fn serve(runs: &Path, port: u16) -> Running {
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
    phone(&browser, &home).await;
    analyse(&browser, &home).await;
    review(&browser, &home).await;
    inside(&browser, &home).await;
    train(&browser, &home).await;
    judge(&browser, &home).await;
    dark(&browser, &home).await;
    let server = killed_and_back(&browser, &home, server, runs).await;
    browser.driver.clone().quit().await.unwrap();
    server.stop();
}

/// A game to its end by keys, with hint, best move, undo, redo, values, autoplay and help.
async fn play(browser: &Browser, home: &str) {
    browser.open(&format!("{home}/play?board=2x2")).await;
    browser
        .until("document.querySelectorAll('.tile').length === 2")
        .await;
    for _ in 0..40 {
        browser.keys("\u{e012}\u{e013}\u{e014}\u{e015}").await;
        let over = "return !document.querySelector('.over').hidden";
        if browser.script(over).await == true {
            break;
        }
    }
    browser
        .until("!document.querySelector('.over').hidden")
        .await;
    assert!(browser.text(".over").await.contains("Game over"));
    browser.is_accessible("the end of a game").await;

    browser
        .open(&format!("{home}/play?board=4x4&model=lines"))
        .await;
    browser
        .until("document.querySelector('#model-says')?.innerText.includes('lines')")
        .await;
    browser.keys("i").await;
    assert!(browser.text("#coach").await.contains("Best:"));
    browser.keys(" ").await;
    browser
        .until("document.querySelector('#moves').innerText === '1'")
        .await;
    browser.keys(" ").await;
    browser
        .until("document.querySelector('#moves').innerText === '2'")
        .await;
    browser.keys("u").await;
    browser
        .until("document.querySelector('#moves').innerText === '1'")
        .await;
    browser.keys("r").await;
    browser
        .until("document.querySelector('#moves').innerText === '2'")
        .await;
    browser.click("#show-values").await;
    browser
        .until("document.querySelectorAll('#values .is-best').length === 1")
        .await;
    browser.choose("Autoplay", "5").await;
    browser.click("#auto").await;
    browser
        .until("Number(document.querySelector('#moves').innerText) > 20")
        .await;
    browser.script("document.querySelector('#auto').getAttribute('aria-pressed') === 'true' && document.querySelector('#auto').click()").await;
    browser.keys("?").await;
    browser
        .until("document.querySelector('dialog[open]')")
        .await;
    browser.is_accessible("the keys").await;
    browser.click("dialog button").await;
    browser.until("!document.querySelector('dialog')").await;
    browser.is_accessible("play").await;
}

/// Tiles by hand: a click is a 2, a right click a 4.
async fn tiles_by_hand(browser: &Browser, home: &str) {
    browser.open(&format!("{home}/play?board=3x3")).await;
    browser
        .until("document.querySelectorAll('.tile').length === 2")
        .await;
    browser.keys("m").await;
    for _ in 0..3 {
        browser.keys("\u{e012}\u{e013}\u{e014}\u{e015}").await;
        let due = "return document.querySelectorAll('button.slot').length > 0";
        if browser.script(due).await == true {
            break;
        }
    }
    browser
        .until("document.querySelectorAll('button.slot').length > 0")
        .await;
    browser.is_accessible("tiles by hand").await;
    let cells = "return document.querySelectorAll('.tile:not(.going)').length";
    let before = browser.script(cells).await.as_u64().unwrap();
    browser.script("document.querySelector('button.slot').dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true }))").await;
    browser
        .until("document.querySelectorAll('button.slot').length === 0")
        .await;
    let after = browser.script(cells).await.as_u64().unwrap();
    assert_eq!(after, before + 1);
    let new = "return document.querySelector('.tile.new')?.innerText";
    assert_eq!(browser.script(new).await, "4");
    browser.keys("m").await;
}

/// A phone: swipes, and nothing wider than the screen.
async fn phone(browser: &Browser, home: &str) {
    browser.size(390, 844).await;
    browser.open(&format!("{home}/play?board=4x4")).await;
    browser
        .until("document.querySelectorAll('.tile').length >= 2")
        .await;
    let moves = browser.text("#moves").await;
    let (mut x, mut y) = (0.0, 0.0);
    let place = "const box = document.querySelector('.board').getBoundingClientRect(); \
         return [box.x + box.width / 2, box.y + box.height / 2]";
    if let [a, b] = &browser.script(place).await.as_array().unwrap()[..] {
        (x, y) = (a.as_f64().unwrap(), b.as_f64().unwrap());
    }
    browser.swipe((x - 60.0, y), (x + 60.0, y)).await;
    browser.swipe((x, y - 60.0), (x, y + 60.0)).await;
    let moved = format!("document.querySelector('#moves').innerText !== {moves:?}");
    browser.until(&moved).await;
    for part in ["play", "analyse", "inside", "train", "judge"] {
        browser.open(&format!("{home}/{part}")).await;
        browser
            .until("document.querySelector('main').children.length > 0")
            .await;
        let wide = browser
            .script("return document.documentElement.scrollWidth")
            .await;
        assert!(wide.as_u64() <= Some(390), "{part} is {wide} wide");
        let nav = "return document.querySelector('.top nav').getBoundingClientRect().bottom";
        assert_eq!(
            browser.script(nav).await.as_f64().map(f64::round),
            Some(844.0)
        );
    }
    browser.size(1280, 1000).await;
}

/// A shared link, a bad board, editing, and deepening answers.
async fn analyse(browser: &Browser, home: &str) {
    let link = format!("{home}/analyse?game=2048&position=2%2C2%2C0%2F0%2C4%2C0");
    browser.open(&link).await;
    browser
        .until("document.querySelector('#searched')?.innerText === '4ply'")
        .await;
    assert_eq!(
        browser
            .script("return document.querySelectorAll('.tile').length")
            .await,
        3
    );
    let table = browser.text("#moves-table").await;
    assert!(table.contains("best") && table.contains("left"), "{table}");
    browser.is_accessible("analyse").await;
    browser.enter("#board-text", "2 3\n5 7").await;
    browser.click("#read-board").await;
    browser
        .until("document.querySelector('#fault .error')")
        .await;
    browser.enter("#board-text", "2 2 4\n. . .").await;
    browser.click("#read-board").await;
    browser
        .until("!document.querySelector('#fault .error')")
        .await;
    browser.until("location.search.includes('2%2C2%2C4')").await;
    // A link of another site with a board in hexadecimal digits, and one of our own.
    let other = "https://example.com/p/1120000000000003";
    browser.enter("#board-text", other).await;
    browser.click("#read-board").await;
    browser
        .until("location.search.includes('2%2C2%2C4%2C0%2F')")
        .await;
    browser.enter("#board-text", &link).await;
    browser.click("#read-board").await;
    browser
        .until("document.querySelectorAll('.tile').length === 3 && document.querySelector('#moves-table')")
        .await;
    browser.click("#edit-board").await;
    browser.enter(".edit input", "64").await;
    browser
        .until("document.querySelector('.tile .face').innerText === '64'")
        .await;
}

/// A recorded game: curves, the next mistake, and a better move found.
async fn review(browser: &Browser, home: &str) {
    let record = "const game = await (await fetch('/api/v1/games', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ board: '2x3', seed: 2 }) })).json(); \
        const path = '/api/v1/games/' + game.game.id; \
        await fetch(path + '/auto', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ moves: 500, model: 'random' }) }); \
        return await (await fetch(path + '/record')).text()";
    browser.open(&format!("{home}/analyse")).await;
    browser
        .until("document.querySelector('#moves-table')")
        .await;
    let found = browser
        .script(&format!("return (async () => {{ {record} }})()"))
        .await;
    browser
        .script("document.querySelector('details').open = true")
        .await;
    browser
        .enter("#records-text", found.as_str().unwrap().trim())
        .await;
    browser.click("#review-text").await;
    browser.until("document.querySelector('#review')").await;
    browser
        .until("document.querySelector('#place')?.innerText.includes('Move 1 of')")
        .await;
    browser.is_accessible("a review").await;
    browser.keys("k").await;
    browser
        .until("document.querySelector('#place').innerText.includes('Move 2 of')")
        .await;
    browser.keys("x").await;
    browser
        .until("/mistake|blunder|inaccuracy/.test(document.querySelector('#place').innerText)")
        .await;
    browser.click("#learn").await;
    browser.until("document.querySelector('#learning')").await;
    assert!(browser.text("#answer").await.contains("hidden"));
    for key in ["\u{e012}", "\u{e013}", "\u{e014}", "\u{e015}"] {
        browser.keys(key).await;
        tokio::time::sleep(std::time::Duration::from_millis(120)).await;
        if browser
            .script("return Boolean(document.querySelector('#learn-on'))")
            .await
            == true
        {
            break;
        }
    }
    browser.until("document.querySelector('#learn-on')").await;
    chances(browser).await;
    shared_review(browser).await;
}

/// The chance of a tile along the game.
async fn chances(browser: &Browser) {
    browser
        .script("document.querySelector('#chances').open = true")
        .await;
    browser
        .until("document.querySelector('#chances .plot svg path')")
        .await;
    let least = "const tiles = [...document.querySelector('#chance-of select').options]; \
         return tiles[0].value";
    let least = browser.script(least).await;
    browser.choose("Tile", least.as_str().unwrap()).await;
    browser
        .until("document.querySelector('#chances [role=status]').innerText.includes('100% at')")
        .await;
}

/// A link to a step of a reviewed game opens the same game at the same step in another browser
/// profile: nothing but the address has it.
async fn shared_review(browser: &Browser) {
    browser.click("#first").await;
    browser.keys("kkk").await;
    browser
        .until("location.search.includes('step=3') && location.hash.startsWith('#record=')")
        .await;
    let link = browser.script("return location.href").await;
    let seen = "return document.querySelector('.board').getAttribute('aria-label') + \
         document.querySelector('#review .stat').innerText";
    browser
        .until("document.querySelector('#searched').innerText === '4ply'")
        .await;
    let before = browser.script(seen).await;
    browser.script("localStorage.clear()").await;
    browser.open("about:blank").await;
    browser.open(link.as_str().unwrap()).await;
    browser
        .until("document.querySelector('#place')?.innerText.includes('Move 4 of')")
        .await;
    browser
        .until("document.querySelector('#searched')?.innerText === '4ply'")
        .await;
    assert_eq!(browser.script(seen).await, before);
    // A link that was cut off says so.
    let cut = link.as_str().unwrap();
    browser.open("about:blank").await;
    browser.open(&cut[..cut.len() - 9]).await;
    browser
        .until("document.querySelector('[role=alert] .error')?.innerText.includes('cut off')")
        .await;
}

/// Lookups of a value, and a lesson stepped through.
async fn inside(browser: &Browser, home: &str) {
    browser
        .open(&format!(
            "{home}/inside?game=2048&position=2%2C2%2C0%2F0%2C4%2C0"
        ))
        .await;
    browser
        .until("document.querySelectorAll('.lookup').length === 8")
        .await;
    browser.click(".lookup:nth-child(2)").await;
    browser
        .until("document.querySelector('#one-lookup').innerText.includes('Lookup 2')")
        .await;
    browser.is_accessible("lookups").await;
    browser.click("#lesson-tab").await;
    browser
        .until("document.querySelector('#lesson-step')?.innerText.startsWith('move 1')")
        .await;
    browser.click("#lesson-next").await;
    browser
        .until("document.querySelector('#lesson-step').innerText.startsWith('move 2')")
        .await;
    assert!(browser.text("#lesson-numbers").await.contains("V(next s′)"));
    browser.is_accessible("a lesson").await;
    browser.choose("Values of", "state").await;
    browser
        .until("document.querySelector('#lesson-numbers').innerText.includes('V(s″)')")
        .await;
    browser.keys("k").await;
    browser
        .until("document.querySelector('#lesson-step').innerText.startsWith('move 3')")
        .await;
    browser.choose("Updates", "yes").await;
    browser
        .until("document.querySelector('#lesson-numbers').innerText.includes('target = r + z')")
        .await;
}

/// A run that is started, watched live, and stopped.
async fn train(browser: &Browser, home: &str) {
    browser.open(&format!("{home}/train")).await;
    browser
        .until("document.querySelectorAll('.open-run').length === 6")
        .await;
    browser
        .until("document.querySelectorAll('#sweeps tbody tr').length === 2")
        .await;
    browser
        .until("document.querySelectorAll('#sweeps .plot svg path').length === 4")
        .await;
    let table = browser.text("#sweeps table").await;
    assert!(
        table.contains("a hundredth") && table.contains("Difference (95%)"),
        "{table}"
    );
    browser.click("#open-form").await;
    browser.until("document.querySelector('#key-board')").await;
    browser.enter("#key-board", "2x3").await;
    browser
        .until("document.querySelector('#key-network-tuples')?.value === 'lines'")
        .await;
    for (key, value) in [
        ("episodes", "50000000"),
        ("threads", "1"),
        ("block_games", "500"),
    ] {
        browser.enter(&format!("#key-{key}"), value).await;
        let set = format!(
            "document.querySelector('#key-{key}').closest('.field').classList.contains('changed')"
        );
        browser.until(&set).await;
    }
    browser.enter("#key-episodes", "many").await;
    browser
        .until("document.querySelector('#new-run .error')")
        .await;
    browser.enter("#key-episodes", "50000000").await;
    browser
        .until("!document.querySelector('#new-run .error')")
        .await;
    browser.is_accessible("a new run").await;
    browser.click("#start-run").await;
    browser
        .until("document.querySelector('#live-runs .stop')")
        .await;
    browser
        .until("document.querySelector('#live-runs .numbers').innerText.includes('moves/s')")
        .await;
    browser
        .until("document.querySelector('.plot svg path')")
        .await;
    browser.click("#live-runs .watch").await;
    browser
        .until("document.querySelectorAll('#live-runs .tile').length >= 2")
        .await;
    browser.is_accessible("a run").await;
    browser.click("#live-runs .stop").await;
    browser
        .until("!document.querySelector('#live-runs .stop')")
        .await;
    browser
        .until("[...document.querySelectorAll('.tag')].some((one) => one.innerText === 'stopped')")
        .await;
    browser.click(".open-run").await;
    browser.until("document.querySelector('#run-detail')").await;
}

/// A good record and a forged one.
async fn judge(browser: &Browser, home: &str) {
    browser.open(&format!("{home}/judge")).await;
    browser
        .until("document.querySelector('#judge-files')")
        .await;
    let drop = "const files = new DataTransfer(); \
         files.items.add(new File(['slide:place@1|0111#L[4]3|slide@2\\n'], 'good.txt')); \
         files.items.add(new File(['slide:place@1|0111#L[8]3|slide@2\\n'], 'forged.txt')); \
         const input = document.querySelector('#judge-files'); input.files = files.files; \
         input.dispatchEvent(new Event('change'))";
    browser.script(drop).await;
    browser
        .until("document.querySelectorAll('#verdicts tbody tr').length === 2")
        .await;
    browser
        .until("!document.querySelector('#verdicts').innerText.includes('judging')")
        .await;
    let table = browser.text("#verdicts").await;
    assert!(table.contains("forged.txt"), "{table}");
    browser.is_accessible("judge").await;
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
    server
}
