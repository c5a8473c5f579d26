//! Deep Q-learning with a replay buffer and a target network, as a block diagram.

use super::Theme;
use super::canvas::{Area, Canvas, Fill, Ink, WIDTH, look};
use super::text::places;
use super::worked;
use crate::numbers::grouped;
use crate::plot::{Plot, PlotError};

/// A box with a name and lines below it.
fn block(canvas: &mut Canvas, area: Area, fill: Fill, ink: Ink, texts: &[&str]) {
    canvas.fill(area, fill);
    canvas.frame(area, ink, 2.5);
    let (x, middle) = area.centre();
    let lines = texts.len() as f32;
    for (n, text) in texts.iter().enumerate() {
        let style = if n == 0 {
            look(23.0).bold()
        } else {
            look(20.0)
        };
        let y = middle + (n as f32 - (lines - 1.0) / 2.0) * 34.0;
        canvas.label((x, y), text, style.middle());
    }
}

/// The loop of DQN with the settings of the recipe `dqn-report`.
///
/// # Errors
/// When the built-in font cannot be read.
pub fn dqn(theme: Theme) -> Result<Plot, PlotError> {
    let loop_ = worked::dqn();
    let title = "Deep Q-learning with a replay buffer and a target network";
    let about =
        "One iteration, with the settings of the recipe dqn-report (2048 experiment report).";
    let mut canvas = Canvas::new((WIDTH, 860.0), theme, title, about)?;
    let games = Area::new(36.0, 140.0, 290.0, 130.0);
    let buffer = Area::new(480.0, 140.0, 270.0, 130.0);
    let batch = Area::new(894.0, 140.0, 270.0, 130.0);
    let online = Area::new(36.0, 420.0, 330.0, 130.0);
    let target = Area::new(834.0, 420.0, 330.0, 130.0);
    let loss = Area::new(420.0, 690.0, 360.0, 130.0);

    let envs = format!("{} games", loop_.num_envs);
    block(
        &mut canvas,
        games,
        Fill::Panel,
        Ink::Muted,
        &[&envs, "one move in each", "ε: share of random moves"],
    );
    let size = format!("{} transitions", grouped(loop_.buffer_size as f64));
    block(
        &mut canvas,
        buffer,
        Fill::Panel,
        Ink::Muted,
        &["replay buffer", &size, "the oldest is replaced"],
    );
    let batches = format!("{} batches", loop_.updates_per_step);
    let drawn = format!("{} transitions each,", loop_.batch_size);
    block(
        &mut canvas,
        batch,
        Fill::Panel,
        Ink::Muted,
        &[&batches, &drawn, "drawn at random"],
    );
    block(
        &mut canvas,
        online,
        Fill::Blue,
        Ink::Blue,
        &["online network Q", "learns and plays"],
    );
    block(
        &mut canvas,
        target,
        Fill::Orange,
        Ink::Orange,
        &["target network Q′", "a lagged copy of Q"],
    );
    let over = format!(
        "y = r / {} if the game is over",
        places(loop_.reward_scale, 0)
    );
    let y = format!(
        "y = r / {} + {} max Q′(s′, a′)",
        places(loop_.reward_scale, 0),
        places(loop_.discount, 4)
    );
    block(
        &mut canvas,
        loss,
        Fill::Panel,
        Ink::Muted,
        &["loss: (y − Q(s, a))^{2}", &y, &over],
    );

    let label = |canvas: &mut Canvas, x: f32, y: f32, text: &str, ink: Ink| {
        canvas.text((x, y), text, look(20.0).ink(ink).middle());
    };
    canvas.arrow(vec![(326.0, 205.0), (474.0, 205.0)], Ink::Main, 2.5);
    label(&mut canvas, 402.0, 192.0, "s, a, r, s′", Ink::Main);
    canvas.arrow(vec![(750.0, 205.0), (888.0, 205.0)], Ink::Main, 2.5);
    // The online network plays.
    canvas.arrow(vec![(110.0, 420.0), (110.0, 276.0)], Ink::Blue, 2.5);
    canvas.text(
        (124.0, 340.0),
        "a = argmax Q(s, a)",
        look(20.0).ink(Ink::Blue),
    );
    // The batch goes to both networks.
    canvas.arrow(
        vec![
            (950.0, 270.0),
            (950.0, 376.0),
            (320.0, 376.0),
            (320.0, 414.0),
        ],
        Ink::Main,
        2.5,
    );
    label(&mut canvas, 610.0, 364.0, "s, a", Ink::Main);
    canvas.arrow(vec![(1090.0, 270.0), (1090.0, 414.0)], Ink::Main, 2.5);
    canvas.text((1104.0, 340.0), "s′", look(20.0));
    // The copy.
    canvas.dashes(vec![(366.0, 485.0), (812.0, 485.0)], Ink::Orange, 2.5);
    canvas.arrow(vec![(806.0, 485.0), (828.0, 485.0)], Ink::Orange, 2.5);
    let copy = format!("copied every {} iterations", loop_.copy_iterations);
    label(&mut canvas, 600.0, 472.0, &copy, Ink::Orange);
    // The loss.
    canvas.arrow(
        vec![(130.0, 550.0), (130.0, 755.0), (414.0, 755.0)],
        Ink::Blue,
        2.5,
    );
    label(&mut canvas, 272.0, 742.0, "Q(s, a)", Ink::Blue);
    canvas.arrow(
        vec![(1060.0, 550.0), (1060.0, 755.0), (786.0, 755.0)],
        Ink::Orange,
        2.5,
    );
    label(&mut canvas, 924.0, 742.0, "max Q′(s′, a′)", Ink::Orange);
    canvas.arrow(
        vec![
            (600.0, 690.0),
            (600.0, 620.0),
            (280.0, 620.0),
            (280.0, 556.0),
        ],
        Ink::Green,
        2.5,
    );
    label(&mut canvas, 440.0, 608.0, "gradient, Adam", Ink::Green);
    Ok(canvas.finish("dqn"))
}
