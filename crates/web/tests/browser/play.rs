//! Play: a game by keys, tiles by hand, and the phone.

use crate::browser::Browser;

/// A game to its end by keys, with hint, best move, undo, redo, values, autoplay and help.
pub(crate) async fn play(browser: &Browser, home: &str) {
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
pub(crate) async fn tiles_by_hand(browser: &Browser, home: &str) {
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
    browser.right_click("button.slot").await;
    browser
        .until("document.querySelectorAll('button.slot').length === 0")
        .await;
    let after = browser.script(cells).await.as_u64().unwrap();
    assert_eq!(after, before + 1);
    let new = "return document.querySelector('.tile.new')?.innerText";
    assert_eq!(browser.script(new).await, "4");
    browser.keys("m").await;
}

/// Threes!: all first tiles are placed one after the other, then the next one that is shown.
pub(crate) async fn threes_by_hand(browser: &Browser, home: &str) {
    let manual = [("play.spawns", "\"manual\"")];
    browser.keep_only(home, &manual).await;
    browser
        .open(&format!("{home}/play?game=threes-hint&board=4x4"))
        .await;
    for (place, tile) in [1, 2, 3, 1, 2, 3, 1, 2, 3].iter().enumerate() {
        let left = format!(
            "document.querySelector('#palette')?.innerText.includes('({} to place)')",
            9 - place
        );
        browser.until(&left).await;
        browser.click(&format!("#palette button.t{tile}")).await;
        if place == 8 {
            // The ninth tile comes with the next one.
            browser
                .until("document.querySelector('#palette').innerText.includes('next tile')")
                .await;
        }
        browser.click("button.slot").await;
    }
    browser
        .until("document.querySelector('#palette').hidden && document.querySelectorAll('.tile').length === 9")
        .await;
    let cells = "return [...document.querySelectorAll('.tile')].map((one) => one.innerText).join()";
    assert_eq!(browser.script(cells).await, "1,2,3,1,2,3,1,2,3");
    browser.keep_only(home, &[]).await;
}

/// What this browser has kept may be wrong, and so may an address: there is a game all the same.
pub(crate) async fn kept(browser: &Browser, home: &str) {
    // A run that is not there any more: the usual model plays, and says so.
    let gone = [("play.model", "\"gone-run\"")];
    browser.keep_only(home, &gone).await;
    browser.open(&format!("{home}/play?board=2x3")).await;
    browser
        .until("document.querySelector('#coach')?.innerText.includes('gone-run')")
        .await;
    browser
        .until("document.querySelector('#model-says').innerText.includes('small')")
        .await;
    browser.keys(" ").await;
    browser
        .until("document.querySelector('#moves').innerText === '1'")
        .await;
    let model = "return localStorage.getItem('afterstate.play.model')";
    assert_eq!(browser.script(model).await, "\"\"");
    // What no version of the page has written.
    let wrong = [("game", "{\"game\": \"2048\"}"), ("play.search", "5")];
    browser.keep_only(home, &wrong).await;
    browser.open(&format!("{home}/play")).await;
    browser
        .until("document.querySelectorAll('.tile').length === 2")
        .await;
    browser.open(&format!("{home}/play?game=chess")).await;
    browser
        .until("document.querySelector('#fault')?.innerText.includes('chess') && document.querySelectorAll('.tile').length === 2")
        .await;
}

/// Moves are read aloud at any speed of autoplay, the first position is one request away, and the best
/// score is that of the player alone.
pub(crate) async fn own_game(browser: &Browser, home: &str) {
    browser.keep_only(home, &[("play.speed", "5")]).await;
    browser
        .open(&format!("{home}/play?board=3x3&model=greedy"))
        .await;
    browser
        .until("document.querySelectorAll('.tile').length === 2")
        .await;
    browser.keys("\u{e012}\u{e013}\u{e014}\u{e015}").await;
    browser
        .until("document.querySelector('#live').innerText.includes('new ')")
        .await;
    browser
        .until("Number(document.querySelector('#moves').innerText) >= 2")
        .await;
    let best = "return localStorage.getItem('afterstate.best.2048.3x3')";
    let own = browser.script(best).await;
    browser.click("#auto").await;
    browser
        .until("!document.querySelector('.over').hidden")
        .await;
    assert_eq!(browser.script(best).await, own, "the model has played");
    browser.script("performance.clearResourceTimings()").await;
    browser.keys("\u{e011}").await;
    browser
        .until("document.querySelector('#moves').innerText === '0'")
        .await;
    browser.keys("\u{e010}").await;
    browser
        .until("!document.querySelector('.over').hidden")
        .await;
    let requests = "return performance.getEntriesByType('resource').filter((one) => \
         /(undo|redo)$/.test(one.name)).length";
    assert_eq!(browser.script(requests).await, 2);
    // A player without values cannot choose tiles; another setting takes the error back.
    browser
        .keep_only(home, &[("play.spawns", "\"worst\"")])
        .await;
    browser
        .open(&format!("{home}/play?board=3x3&model=random"))
        .await;
    browser
        .until("document.querySelectorAll('.tile').length === 2")
        .await;
    browser.keys(" ").await;
    browser
        .until("document.querySelector('#fault').innerText.includes('cannot choose the worst')")
        .await;
    browser.choose("Model", "greedy").await;
    browser
        .until("document.querySelector('#fault').innerText === ''")
        .await;
    browser.keys(" ").await;
    browser
        .until("Number(document.querySelector('#moves').innerText) > 0")
        .await;
    // A high board is as high as the screen lets it be.
    browser.size(1280, 800).await;
    browser.keep_only(home, &[]).await;
    browser.open(&format!("{home}/play?board=5x2")).await;
    browser
        .until("document.querySelectorAll('.tile').length === 2")
        .await;
    let bottom = "return document.querySelector('.pad').getBoundingClientRect().bottom";
    assert!(browser.script(bottom).await.as_f64() <= Some(800.0));
    browser.size(1280, 1000).await;
}

/// A phone: swipes, and nothing wider than the screen.
pub(crate) async fn phone(browser: &Browser, home: &str) {
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
        let ready = match part {
            "play" => "document.querySelectorAll('.tile').length >= 2",
            "analyse" => "document.querySelector('#moves-table')",
            "inside" => "document.querySelector('.lookup')",
            "train" => "document.querySelector('.open-run')",
            _ => "document.querySelector('.drop')",
        };
        browser.until(ready).await;
        browser.is_accessible(&format!("{part} on a phone")).await;
    }
    // A long press places the second tile.
    let manual = [("play.spawns", "\"manual\"")];
    browser.keep_only(home, &manual).await;
    browser.open(&format!("{home}/play?board=3x3")).await;
    browser
        .until("document.querySelectorAll('button.slot').length === 9")
        .await;
    browser.long_press("button.slot").await;
    browser
        .until("document.querySelector('.tile')?.innerText === '4'")
        .await;
    browser.keep_only(home, &[]).await;
    browser.size(1280, 1000).await;
}
