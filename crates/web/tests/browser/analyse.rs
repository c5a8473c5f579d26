//! Analyse: boards, and reviews of whole games.

use crate::browser::Browser;

/// A shared link, a bad board, editing, and deepening answers.
pub(crate) async fn analyse(browser: &Browser, home: &str) {
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
    cells_by_keys(browser).await;
    let nothing = "https://example.com/p/nothing";
    browser.enter("#board-text", nothing).await;
    browser.click("#read-board").await;
    browser
        .until("document.querySelector('#fault').innerText.includes('no board in this link')")
        .await;
    // A search by time goes on ply by ply until its time is over.
    browser.enter("#board-text", "2 2 4\n. . .").await;
    browser.click("#read-board").await;
    browser.choose("Search up to", "500ms").await;
    browser
        .until("/^[2-6]ply in /.test(document.querySelector('#searched').innerText)")
        .await;
    browser.choose("Search up to", "4").await;
    // Both drop zones show that they have the focus.
    browser
        .script("document.querySelector('#records-file').focus({ focusVisible: true })")
        .await;
    let outline = "return getComputedStyle(document.querySelector('.drop')).outlineStyle";
    assert_eq!(browser.script(outline).await, "solid");
    links(browser).await;
}

/// Cells are typed one after the other, with Tab between them.
async fn cells_by_keys(browser: &Browser) {
    browser.click("#edit-board").await;
    browser.click(".edit input").await;
    let typed = browser.driver.active_element().await.unwrap();
    typed.send_keys("64\u{e004}").await.unwrap();
    browser
        .until("document.querySelector('.tile .face').innerText === '64'")
        .await;
    for value in ["8\u{e004}", "16\u{e004}", "5\u{e004}"] {
        let focused = browser.driver.active_element().await.unwrap();
        focused.send_keys(value).await.unwrap();
    }
    browser
        .until("document.querySelector('#cell-fault').innerText.includes('5 in row')")
        .await;
    let values =
        "return [...document.querySelectorAll('.edit input')].map((one) => one.value).join()";
    let values = browser.script(values).await;
    assert!(
        values.as_str().unwrap().starts_with("64,8,16,5"),
        "{values}"
    );
    let focus = "return document.activeElement.closest('.edit') !== null";
    assert_eq!(browser.script(focus).await, true);
    browser.click("#edit-board").await;
}

/// A link has every move of a record: in old replays of 2048verse a space at the end is one, and brackets
/// are moves. Only episode records have times, which are left out.
async fn links(browser: &Browser) {
    let there_and_back = "return (async () => { const { packed, unpacked } = await \
         import('/assets/link.js'); const all = []; for (const record of ['a|b(12)c \\r\\n', \
         'x@1|0111#L(15)#R[4]3(7)|x@2']) all.push(await unpacked('#' + await packed(record))); \
         return all.join(';') })()";
    let found = browser.script(there_and_back).await;
    assert_eq!(found, "a|b(12)c ;x@1|0111#L#R[4]3|x@2");
    // An old replay of four moves, which has the signs of episode records among its moves; the last one
    // is a space.
    let link = "return (async () => { const { packed } = await import('/assets/link.js'); \
         return location.origin + '/analyse#' + await packed(\"replay_'+#E| \") })()";
    let link = browser.script(link).await;
    browser.open("about:blank").await;
    browser.open(link.as_str().unwrap()).await;
    browser
        .until("document.querySelector('#place')?.innerText.includes('Move 1 of 4')")
        .await;
    browser.keys("\u{e010}").await;
    browser
        .until("document.querySelector('.board').getAttribute('aria-label').includes('row 1: 2, 2, empty, 8')")
        .await;
    // A model of another board is left for the usual one.
    let other = "/analyse?position=2,2,0,0/0,4,0,0/0,0,0,0/0,0,0,0&model=small";
    let home = browser.script("return location.origin").await;
    browser
        .open(&format!("{}{other}", home.as_str().unwrap()))
        .await;
    browser
        .until("document.querySelector('#fault')?.innerText.includes('another game or board')")
        .await;
    browser
        .until("document.querySelector('#moves-table')")
        .await;
}

/// A recorded game: curves, the next mistake, and a better move found.
pub(crate) async fn review(browser: &Browser, home: &str) {
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
    assert!(
        browser
            .text("#review h2")
            .await
            .contains("Review of a game")
    );
    // The table is of the search by which the game was graded.
    browser
        .until("document.querySelector('#searched').innerText === '3ply'")
        .await;
    browser.keys("z").await;
    browser
        .until("document.querySelector('#answer').innerText.includes('hidden')")
        .await;
    assert!(!browser.text("#place").await.contains("ply"));
    browser.keys("z").await;
    browser
        .until("document.querySelector('#moves-table')")
        .await;
    browser.keys("\u{e010}").await;
    browser
        .until("document.querySelector('#place').innerText.startsWith('After ')")
        .await;
    browser.size(390, 844).await;
    browser.colours("dark").await;
    browser.is_accessible("a review, dark on a phone").await;
    browser.colours("light").await;
    browser.size(1280, 1000).await;
    browser.keys("\u{e011}").await;
    browser
        .until("document.querySelector('#place').innerText.includes('Move 1 of')")
        .await;
    browser.keys("k").await;
    browser
        .until("document.querySelector('#place').innerText.includes('Move 2 of')")
        .await;
    // The link to the content moves the focus, and leaves the review as it is.
    let skip = "document.querySelector('#review').dataset.same = 'yes'; \
         document.querySelector('.skip').click(); return document.activeElement.id";
    assert_eq!(browser.script(skip).await, "main");
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let same = "return document.querySelector('#review')?.dataset.same";
    assert_eq!(browser.script(same).await, "yes");
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
    // The game is over: it has not reached a larger tile than its largest.
    let most = "const tiles = [...document.querySelector('#chance-of select').options]; \
         return tiles[tiles.length - 1].value";
    let most = browser.script(most).await;
    browser.choose("Tile", most.as_str().unwrap()).await;
    browser
        .until("document.querySelector('#chances [role=status]').innerText.startsWith('0% at')")
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
        .until("document.querySelector('#searched').innerText === '3ply'")
        .await;
    let before = browser.script(seen).await;
    browser.script("localStorage.clear()").await;
    browser.open("about:blank").await;
    browser.open(link.as_str().unwrap()).await;
    browser
        .until("document.querySelector('#place')?.innerText.includes('Move 4 of')")
        .await;
    browser
        .until("document.querySelector('#searched')?.innerText === '3ply'")
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
