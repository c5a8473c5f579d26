//! Train and Judge.

use crate::browser::Browser;

/// A run that is started, watched live, and stopped.
pub(crate) async fn train(browser: &Browser, home: &str) {
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
    chart(browser).await;
    chart_by_keys(browser).await;
    browser.click("#open-form").await;
    browser.until("document.querySelector('#key-board')").await;
    browser.enter("#key-network-tuples", "zz").await;
    browser
        .until("document.querySelector('#new-run .error')")
        .await;
    browser.enter("#key-learner-learning_rate", "-1").await;
    browser
        .until("document.querySelector('#new-run .error').innerText.includes('learning_rate')")
        .await;
    let error = browser.text("#new-run .error").await;
    assert!(!error.contains("override"), "{error}");
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
    // A short one is watched to its end.
    browser.click("#open-form").await;
    browser
        .until("!document.querySelector('#new-run').hidden")
        .await;
    browser.enter("#key-episodes", "3000").await;
    browser
        .until("document.querySelector('#new-run').innerText.includes('episodes=3000')")
        .await;
    browser.click("#start-run").await;
    let finished = "[...document.querySelectorAll('#runs tr')].some((one) => \
         one.innerText.includes('quick-2') && one.innerText.includes('finished'))";
    browser.until(finished).await;
    browser.click(".open-run").await;
    browser.until("document.querySelector('#run-detail')").await;
    // What is wrong with a resumption is told beside its button.
    browser.enter("#resume-episodes", "1").await;
    browser.click("#resume-run").await;
    browser
        .until("document.querySelector('#run-fault .error')")
        .await;
    let error = browser.text("#run-fault .error").await;
    assert!(!error.contains("recipe.toml"), "{error}");
}

/// The chart of two runs of different lengths: hover, zoom, and what is saved.
async fn chart(browser: &Browser) {
    browser
        .script(
            "document.querySelectorAll('#runs input').forEach((one) => one.checked || one.click())",
        )
        .await;
    browser
        .until("document.querySelectorAll('.legend')[0].children.length === 6")
        .await;
    let (x, y) = browser.middle(".plot svg").await;
    let narrow = "return document.querySelector('.plot svg').getBoundingClientRect().width";
    let width = browser.script(narrow).await.as_f64().unwrap();
    // At the right end there is only the longest run.
    browser
        .drag((x + 0.45 * width, y), (x + 0.45 * width, y))
        .await;
    browser
        .until("document.querySelector('.tip').innerText.includes('games 300')")
        .await;
    let tip = browser.text(".tip").await;
    assert!(tip.contains("small") && !tip.contains("lines"), "{tip}");
    browser
        .drag((x - 0.1 * width, y), (x + 0.2 * width, y))
        .await;
    browser
        .until("[...document.querySelectorAll('figure button')].some((one) => one.innerText === 'Whole' && !one.hidden)")
        .await;
    let clipped = "return document.querySelectorAll('.plot svg')[0].querySelector('[clip-path] path') !== null";
    assert_eq!(browser.script(clipped).await, true);
    let saved = "return (async () => { const kept = []; const make = URL.createObjectURL; \
         URL.createObjectURL = (blob) => { kept.push(blob); return make(blob) }; \
         for (const kind of ['SVG', 'CSV']) document.querySelector(`[data-kind=${kind}]`).click(); \
         URL.createObjectURL = make; return (await Promise.all(kept.map((one) => one.text()))).join(';') })()";
    let saved = browser.script(saved).await;
    let saved = saved.as_str().unwrap();
    browser
        .script("[...document.querySelectorAll('figure button')].find((one) => one.innerText === 'Whole').click()")
        .await;
    for word in [
        "Learning curves: mean score",
        ">points<",
        ">small<",
        "\"games\",\"points\"",
    ] {
        assert!(saved.contains(word), "{word}: {saved}");
    }
}

/// Keys go along the numbers of a chart and zoom; it may have more numbers than a call has arguments.
async fn chart_by_keys(browser: &Browser) {
    let focus = "const plot = document.querySelector('.plot'); plot.focus(); \
         return plot.getAttribute('role')";
    assert_eq!(browser.script(focus).await, "slider");
    let plot = browser.driver.active_element().await.unwrap();
    let told = "document.querySelector('.plot').getAttribute('aria-valuetext')";
    plot.send_keys("\u{e010}").await.unwrap();
    browser
        .until(&format!("{told}.startsWith('games 300; small: ')"))
        .await;
    plot.send_keys("\u{e012}").await.unwrap();
    browser
        .until(&format!("{told}.startsWith('games 250; small: ')"))
        .await;
    let tip = browser.text(".tip").await;
    assert!(tip.contains("games 250"), "{tip}");
    let whole = |is_hidden: bool| {
        format!(
            "[...document.querySelectorAll('figure button')].find((one) => \
             one.textContent === 'Whole').hidden === {is_hidden}"
        )
    };
    plot.send_keys("+").await.unwrap();
    browser.until(&whole(false)).await;
    plot.send_keys("\u{e00c}").await.unwrap();
    browser.until(&whole(true)).await;
    let large = "return (async () => { const { Chart } = await import('/assets/chart.js'); \
         const chart = new Chart({ title: 'large', x: 'x', y: 'y' }); \
         const points = Array.from({ length: 300_000 }, (_, place) => [place, place % 7]); \
         chart.show([{ name: 'one', points }]); return chart.range().high })()";
    assert_eq!(browser.script(large).await.as_f64(), Some(6.3));
}

/// A good record and a forged one.
pub(crate) async fn judge(browser: &Browser, home: &str) {
    browser.open(&format!("{home}/judge")).await;
    browser
        .until("document.querySelector('#judge-files')")
        .await;
    let drop = "const files = new DataTransfer(); const zone = document.querySelector('.drop'); \
         files.items.add(new File(['slide:place@1|0111#L[4]3|slide@2\\n'], 'good.txt')); \
         files.items.add(new File(['slide:place@1|0111#L[8]3|slide@2\\n'], 'forged.txt')); \
         zone.dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, \
         cancelable: true }))";
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
    browser.size(390, 844).await;
    browser.is_accessible("judge on a phone").await;
    browser.size(1280, 1000).await;
}
