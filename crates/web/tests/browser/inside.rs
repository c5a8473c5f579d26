//! Inside: lookups, values of states, and lessons.

use crate::browser::Browser;
use crate::parts::serve;
use crate::train_run;

/// Lookups of a value, and a lesson stepped through.
pub(crate) async fn inside(browser: &Browser, home: &str) {
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
    // The heat map has a number on each cell, and all of them together are the value.
    let shares = "const shares = [...document.querySelectorAll('.heat .share')].map((one) => \
         Number(one.innerText.replaceAll(',', '').replace('−', '-'))); \
         const sum = Number(document.querySelector('#sum').innerText.replaceAll(',', '')); \
         return shares.length === 6 && Math.abs(shares.reduce((a, b) => a + b) - sum) < 0.4";
    assert_eq!(browser.script(shares).await, true);
    // 2x3 is solved without a file.
    browser
        .until("document.querySelector('#exact').innerText.includes('Perfect play: V(s′) = ')")
        .await;
    browser.is_accessible("lookups").await;
    browser.enter("main textarea", "4,2,0/0,2,0").await;
    browser.click("main .below .primary").await;
    browser
        .until("location.search.includes('position=4%2C2%2C0%2F0%2C2%2C0')")
        .await;
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

/// The equation of the index of each lookup, evaluated: the ones that are wrong.
const INDICES: &str = r"
    const wrong = [];
    for (const button of document.querySelectorAll('.lookup')) {
      button.click();
      const text = document.querySelector('#index').innerText;
      const terms = [...text.matchAll(/(\d+)·(\d+)/g)];
      const sum = terms.reduce((sum, [, digit, base], at) => sum + digit * base ** at, 0);
      const shown = button.innerText.match(/#(\d+)/)[1];
      if (!terms.length || !text.endsWith(`= ${sum}`) || String(sum) !== shown) wrong.push(text);
    }
    return wrong.join('; ');";

/// Whether the numbers of a slide are those of an analysis: it has the mean over all s″, not V(s).
const SLIDE: &str = r"
    const ask = { position: '2,2,0/0,4,0', model: 'states' };
    const headers = { 'Content-Type': 'application/json' };
    return (async () => {
      const options = { method: 'POST', headers, body: JSON.stringify(ask) };
      const { analysis } = await (await fetch('/api/v1/analyze', options)).json();
      const { value, total } = analysis.moves.find((one) => one.direction === 'DIRECTION');
      const text = (selector) => document.querySelector(selector).textContent;
      const near = (text, wanted) => Math.abs(Number(text.replaceAll(',', '')) - wanted) < 0.02;
      return near(text('#value h2').split('=')[1], total) && near(text('#mean'), value) &&
        !near(text('#sum'), value);
    })()";

/// A network of states, and games whose tables have another base or too few digits.
pub(crate) async fn states_and_other_bases(browser: &Browser) {
    let folder = tempfile::tempdir().unwrap();
    let few = ["threads=1", "block_games=50", "episodes=100"];
    let model = |name: &str, set: &[&str]| {
        train_run(&folder.path().join(name), &[set, &few[..]].concat());
    };
    model("states", &["board=2x3", "value=state", "tuples=012 0134"]);
    model("fibonacci", &["game=2584", "board=3x3", "tuples=012 0134"]);
    model("large", &["board=4x4", "tuples=0123 0145"]);
    let server = serve(folder.path(), 0);
    let home = format!("http://{}/inside", server.address);
    let large = "131072,65536,32768,8192/2,4,0,0/0,0,0,0/0,0,2,0";
    for (link, cells) in [
        (
            "game=2584&position=1,2,0/0,3,5/0,0,0&model=fibonacci".to_owned(),
            9,
        ),
        (format!("position={large}&model=large"), 16),
    ] {
        browser.open(&format!("{home}?{link}")).await;
        let drawn = format!("document.querySelectorAll('.heat .share').length === {cells}");
        browser.until(&drawn).await;
        browser.until("document.querySelector('.lookup')").await;
        assert_eq!(browser.script(INDICES).await, "", "{link}");
    }
    browser
        .open(&format!("{home}?position=2,2,0/0,4,0&model=states"))
        .await;
    browser
        .until("document.querySelector('#value h2')?.innerText.includes('=')")
        .await;
    for direction in ["right", "down"] {
        browser.choose("Move", direction).await;
        let shown =
            format!("document.querySelector('#value h2').innerText.includes('{direction}')");
        browser.until(&shown).await;
        browser
            .until("document.querySelector('#exact').innerText.includes('V(s) = ')")
            .await;
        let agrees = SLIDE.replace("DIRECTION", direction);
        assert_eq!(browser.script(&agrees).await, true, "{direction}");
    }
    // A model that is gone is named, and another one answers.
    browser
        .open(&format!("{home}?position=2,2,0/0,4,0&model=gone"))
        .await;
    browser
        .until("document.querySelector('[role=alert] .note')?.innerText.includes('gone')")
        .await;
    browser.until("document.querySelector('.lookup')").await;
    server.stop();
}

/// Steps through a lesson: what the diagram shows for the tile that came must be in the target.
const STEPS: &str = r"
    const wrong = [];
    const numbers = (text) => text.replaceAll(',', '').replaceAll('− ', '-').replaceAll('−', '-')
      .match(/-?\d+\.\d+/g).map(Number);
    document.querySelector('#lesson-first').click();
    for (;;) {
      const place = document.querySelector('#lesson-step').innerText;
      const [, at, of] = place.match(/(\d+) of (\d+)/);
      const lines = [...document.querySelectorAll('#lesson-numbers .sum')].map((it) => it.innerText);
      const [reward, next, target] = numbers(lines.find((it) => it.startsWith('target')));
      const came = numbers(document.querySelector('.backup .came').textContent).at(-1);
      const wanted = !STATES ? target : at === of ? came : next;
      if (Math.abs(came - wanted) > 0.001 || Math.abs(reward + next - target) > 0.011)
        wrong.push(`${place}: ${came}, ${wanted}`);
      if (at === of) return wrong.join('; ');
      document.querySelector('#lesson-next').click();
    }";

/// Sets a field of the form of a lesson.
async fn set(browser: &Browser, label: &str, value: &str) {
    let script = format!(
        "const field = [...document.querySelectorAll('#lesson label')].find((one) => \
         one.firstChild.textContent === {label:?}).querySelector('select, input'); \
         field.value = {value:?}; field.dispatchEvent(new Event('change'))"
    );
    browser.script(&script).await;
}

/// Both kinds of values, lambda in numbers, the last of several lessons, and a bad number.
pub(crate) async fn lessons_agree(browser: &Browser, home: &str) {
    browser.open(&format!("{home}/inside")).await;
    browser.click("#lesson-tab").await;
    let learned = "document.querySelector('#lesson-status').innerText === '' && \
         document.querySelector('.backup .board')";
    browser.until(learned).await;
    let steps = |states: bool| STEPS.replace("STATES", &states.to_string());
    assert_eq!(browser.script(&steps(false)).await, "");
    set(browser, "Values of", "state").await;
    browser
        .until("document.querySelector('#lesson-numbers').innerText.includes('V(s″)')")
        .await;
    assert_eq!(browser.script(&steps(true)).await, "");
    set(browser, "Updates", "yes").await;
    browser
        .until("document.querySelector('#lesson-order')")
        .await;
    set(browser, "Lambda", "0.5").await;
    browser.click("#lesson-first").await;
    browser
        .until("document.querySelector('#lesson-numbers').innerText.includes('= 0.5 · ')")
        .await;
    browser.click("#lesson-last").await;
    let text = browser.text("#lesson-numbers").await;
    assert!(text.contains("z = 0, the game ends"), "{text}");
    set(browser, "Seed", "1.5").await;
    browser
        .until("document.querySelector('#lesson .error')?.innerText.startsWith('Seed: ')")
        .await;
    set(browser, "Seed", "1").await;
    // A longer lesson that was asked for before does not replace a newer one.
    set(browser, "Games learned before", "300").await;
    set(browser, "Board", "4x4").await;
    set(browser, "Board", "2x2").await;
    browser.until(learned).await;
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    let cells = "return document.querySelector('.backup .board').querySelectorAll('.slot').length";
    assert_eq!(browser.script(cells).await, 4);
}
