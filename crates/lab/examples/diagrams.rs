//! Writes the drawings of docs/how-it-works, and the worked numbers between the markers of its
//! pages: `cargo run --release -p afterstate-lab --example diagrams -- docs/how-it-works`.
//!
//! A second folder gets the drawings as PNG files.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use afterstate_lab::plot::diagram::{Theme, all, fill_page, number_blocks};

fn main() -> Result<(), Box<dyn Error>> {
    let mut folders = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = folders.next().unwrap_or_else(|| "docs/how-it-works".into());
    let pixels = folders.next();
    fs::create_dir_all(&folder)?;
    for theme in Theme::ALL {
        for plot in all(theme)? {
            fs::write(folder.join(format!("{}.svg", plot.name())), plot.svg())?;
            if let Some(pixels) = &pixels {
                fs::create_dir_all(pixels)?;
                fs::write(pixels.join(format!("{}.png", plot.name())), plot.png()?)?;
            }
        }
    }
    let blocks = number_blocks()?;
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let page = fs::read_to_string(&path)?;
            let filled = fill_page(&page, &blocks)
                .map_err(|name| format!("{}: no numbers `{name}`", path.display()))?;
            fs::write(&path, filled)?;
        }
    }
    Ok(())
}
