//! Evaluates a model, or a baseline where none is named, and prints the report as JSON:
//! `cargo run --example evaluate -- runs/quick`

use std::path::Path;

use afterstate::game::Shape;
use afterstate_lab::agent::Baseline;
use afterstate_lab::control::Control;
use afterstate_lab::evaluate::{Contender, EvalOptions, evaluate};
use afterstate_lab::model::Model;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let contender = match std::env::args().nth(1) {
        Some(path) => Contender::from(&Model::open(Path::new(&path))?),
        None => Contender::baseline(Baseline::Greedy, "2048", Shape::FOUR)?,
    };
    let options = EvalOptions {
        games: 200,
        part: afterstate_lab::part::Part::WHOLE,
        seed: 1,
        threads: 0,
        control: &Control::new(),
    };
    let evaluation = evaluate(&contender, &options);
    println!("{}", serde_json::to_string_pretty(&evaluation)?);
    Ok(())
}
