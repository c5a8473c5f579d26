//! Lists the runs below a folder: `cargo run --example runs -- runs`

use std::path::Path;

use afterstate_lab::runs::list_runs;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    for run in list_runs(Path::new(&folder))? {
        let (status, games) = (run.status.name(), run.games);
        println!(
            "{}: {status}, {games} games, {}",
            run.path.display(),
            run.title()
        );
    }
    Ok(())
}
