//! Trains for a moment, saves the model, and asks it for the value of each move of a board:
//! `cargo run --example analyze -- "2 . . 4 / . . 8 . / . . . . / . . . 2"`

use afterstate::game::Direction;
use afterstate_lab::analyze::analyze;
use afterstate_lab::control::Control;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::model::Model;
use afterstate_lab::recipe::Recipe;
use afterstate_lab::trainer::Trainer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let board = std::env::args().nth(1);
    let board = board.unwrap_or_else(|| "2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2".to_owned());
    let folder = tempfile::tempdir()?;
    let overrides = ["tuples=8x4", "episodes=500", "threads=1"].map(str::to_owned);
    let recipe = Recipe::load("quick", &overrides)?;
    Trainer::new(recipe, folder.path(), &Control::new())?.train()?;
    let model = Model::open(folder.path())?;
    let analysis = analyze(&Contender::from(&model), &board)?;
    for m in &analysis.moves {
        println!("{:<6} {:?}", m.direction.name(), m.total);
    }
    let best = analysis.best.map(Direction::name);
    println!("best: {}", best.unwrap_or("none, the game is over"));
    Ok(())
}
