//! Chromium and its driver, and what tests do with a page.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::prelude::*;

/// How long a test waits for what should come at once.
const LONGEST: Duration = Duration::from_secs(20);

/// A running chromedriver.
pub(crate) struct Driver {
    process: Child,
    port: u16,
    profile: TempDir,
}

impl Driver {
    /// Starts the driver; `None` where there is none.
    pub(crate) fn start() -> Option<Self> {
        let has = |name: &str| {
            let mut command = Command::new(name);
            let command = command.arg("--version").stdout(Stdio::null());
            command.stderr(Stdio::null()).status().is_ok()
        };
        if !has("chromedriver") || !has("chromium") {
            return None;
        }
        // A port that was free a moment ago.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").ok()?;
        let port = listener.local_addr().ok()?.port();
        drop(listener);
        let process = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let profile = tempfile::tempdir().ok()?;
        Some(Self {
            process,
            port,
            profile,
        })
    }

    /// A new browser.
    pub(crate) async fn browser(&self) -> Browser {
        let mut options = DesiredCapabilities::chrome();
        for argument in [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,1000",
        ] {
            options.add_arg(argument).unwrap();
        }
        let profile = format!("--user-data-dir={}", self.profile.path().display());
        options.add_arg(&profile).unwrap();
        let begun = Instant::now();
        let address = format!("http://127.0.0.1:{}", self.port);
        let driver = loop {
            match WebDriver::new(&address, options.clone()).await {
                Ok(driver) => break driver,
                Err(error) => assert!(begun.elapsed() < LONGEST, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        Browser { driver }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A browser with one page.
pub(crate) struct Browser {
    pub(crate) driver: WebDriver,
}

impl Browser {
    /// Opens an address.
    pub(crate) async fn open(&self, address: &str) {
        self.driver.goto(address).await.unwrap();
    }

    /// Runs a script, and returns its result.
    pub(crate) async fn script(&self, script: &str) -> Value {
        let found = self.driver.execute(script, Vec::new()).await;
        found
            .unwrap_or_else(|error| panic!("{script}: {error}"))
            .json()
            .clone()
    }

    /// Waits until an expression is true.
    pub(crate) async fn until(&self, expression: &str) {
        let begun = Instant::now();
        while self.script(&format!("return Boolean({expression})")).await != Value::Bool(true) {
            if begun.elapsed() > LONGEST {
                let text = self.script("return document.body.innerText").await;
                panic!(
                    "{expression} is not true:\n{}",
                    text.as_str().unwrap_or_default()
                );
            }
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
    }

    /// Presses keys, one after the other.
    pub(crate) async fn keys(&self, keys: &str) {
        let body = self.driver.find(By::Css("body")).await.unwrap();
        body.send_keys(keys).await.unwrap();
    }

    /// Clicks what a selector finds, again where it is drawn anew in this moment.
    pub(crate) async fn click(&self, selector: &str) {
        let begun = Instant::now();
        loop {
            self.until(&format!("document.querySelector({selector:?})"))
                .await;
            match self.click_once(selector).await {
                Ok(()) => return,
                Err(error) => assert!(begun.elapsed() < LONGEST, "{selector}: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
    }

    async fn click_once(&self, selector: &str) -> WebDriverResult<()> {
        let element = self.driver.find(By::Css(selector)).await?;
        element.scroll_into_view().await?;
        element.click().await
    }

    /// The text of what a selector finds.
    pub(crate) async fn text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector({selector:?})?.innerText ?? ''");
        self.script(&script)
            .await
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Chooses an option of the field with this label.
    pub(crate) async fn choose(&self, label: &str, value: &str) {
        let script = format!(
            "const field = [...document.querySelectorAll('label')].find((one) => \
             one.firstChild.textContent === {label:?}).querySelector('select'); \
             field.value = {value:?}; field.dispatchEvent(new Event('change'))"
        );
        self.script(&script).await;
    }

    /// Sets the content of a field.
    pub(crate) async fn enter(&self, selector: &str, value: &str) {
        let script = format!(
            "const field = document.querySelector({selector:?}); field.value = {value:?}; \
             field.dispatchEvent(new Event('change'))"
        );
        self.script(&script).await;
    }

    /// Calls the browser's own tools.
    pub(crate) async fn tool(&self, command: &str, parameters: Value) {
        let done = self.driver.cdp().send_raw(command, parameters).await;
        done.unwrap();
    }

    /// The size of the window, as a phone or not.
    pub(crate) async fn size(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.tool("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Light or dark, as the system says.
    pub(crate) async fn colours(&self, scheme: &str) {
        let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.tool("Emulation.setEmulatedMedia", feature).await;
    }

    /// Touches the screen at one place and lets it go at another.
    pub(crate) async fn swipe(&self, from: (f64, f64), to: (f64, f64)) {
        let touch = |kind: &str, points: Value| json!({ "type": kind, "touchPoints": points });
        let at = |(x, y): (f64, f64)| json!([{ "x": x, "y": y }]);
        let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        for (kind, points) in [
            ("touchStart", at(from)),
            ("touchMove", at(middle)),
            ("touchMove", at(to)),
            ("touchEnd", json!([])),
        ] {
            self.tool("Input.dispatchTouchEvent", touch(kind, points))
                .await;
        }
    }

    /// Clicks with the right button at the middle of what a selector finds.
    pub(crate) async fn right_click(&self, selector: &str) {
        let (x, y) = self.middle(selector).await;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "right", "clickCount": 1 });
            self.tool("Input.dispatchMouseEvent", event).await;
        }
    }

    /// Touches the middle of what a selector finds for as long as a long press takes.
    pub(crate) async fn long_press(&self, selector: &str) {
        let (x, y) = self.middle(selector).await;
        let touch = |kind: &str, points: Value| json!({ "type": kind, "touchPoints": points });
        let start = touch("touchStart", json!([{ "x": x, "y": y }]));
        self.tool("Input.dispatchTouchEvent", start).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        let end = touch("touchEnd", json!([]));
        self.tool("Input.dispatchTouchEvent", end).await;
    }

    /// Drags the mouse from one place to another.
    pub(crate) async fn drag(&self, from: (f64, f64), to: (f64, f64)) {
        for (kind, (x, y)) in [
            ("mouseMoved", from),
            ("mousePressed", from),
            ("mouseMoved", to),
            ("mouseReleased", to),
        ] {
            let buttons = u8::from(kind != "mouseReleased");
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons,
                "clickCount": 1 });
            self.tool("Input.dispatchMouseEvent", event).await;
        }
    }

    /// The middle of what a selector finds, once it is on the screen.
    pub(crate) async fn middle(&self, selector: &str) -> (f64, f64) {
        let script = format!(
            "const found = document.querySelector({selector:?}); \
             found.scrollIntoView({{ block: 'center' }}); \
             const box = found.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]"
        );
        let found = self.script(&script).await;
        (found[0].as_f64().unwrap(), found[1].as_f64().unwrap())
    }

    /// What this browser keeps is set to this alone: keys and values.
    pub(crate) async fn keep_only(&self, home: &str, kept: &[(&str, &str)]) {
        // A part that keeps nothing when it is left.
        self.open(&format!("{home}/judge")).await;
        let set = |(key, value): &(&str, &str)| {
            format!("localStorage.setItem('afterstate.{key}', {value:?});")
        };
        let set: String = kept.iter().map(set).collect();
        self.script(&format!("localStorage.clear(); {set}")).await;
    }

    /// Finds no violation of accessibility on this page.
    pub(crate) async fn is_accessible(&self, what: &str) {
        let Some(path) = std::env::var_os("AFTERSTATE_AXE") else {
            return;
        };
        let axe = std::fs::read_to_string(path).unwrap();
        self.script(&axe).await;
        let run = "const done = arguments[arguments.length - 1]; axe.run(document, { runOnly: \
             ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }).then((found) => \
             done(found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => \
             node.html.slice(0, 200) + ' ' + node.failureSummary).join('\\n   '))))";
        let found = self.driver.execute_async(run, Vec::new()).await.unwrap();
        let found: Vec<String> = found.convert().unwrap();
        assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
    }
}
