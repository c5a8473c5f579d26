//! Backup diagrams of the example's first move.

use afterstate::game::{Game, PowersOfTwo, Rules};

use super::Theme;
use super::canvas::{Area, Canvas, Fill, Ink, MARGIN, TOP, WIDTH, look};
use super::text::{board_cells, number, places};
use super::worked::{self, ALPHA, Backups, Example, Row};
use crate::plot::{Plot, PlotError};

/// Backup diagrams of V(afterstate) and V(state), in the circles of Sutton and Barto.
///
/// # Errors
/// When the system refuses the memory of the network.
pub fn backup_diagrams(theme: Theme) -> Result<Plot, PlotError> {
    let backups = worked::backups()?;
    let example = worked::example();
    let title = "Backup diagrams of V(afterstate) and V(state)";
    let about = "○ a state, ● an afterstate Y. Blue: what happened in the game. Grey: what could have happened.";
    let mut canvas = Canvas::new((WIDTH, 950.0), theme, title, about)?;
    canvas.line(vec![(600.0, TOP), (600.0, 920.0)], Ink::Line, 1.5);
    afterstate_backup(&mut canvas, &backups, &example);
    state_backup(&mut canvas, &backups, &example);
    Ok(canvas.finish("backup-diagrams"))
}

/// The circles of the spawns below a dot; returns the place of the one that came.
fn spawn_circles(
    canvas: &mut Canvas,
    backups: &Backups,
    from: (f32, f32),
    left: f32,
) -> (f32, f32) {
    let y = from.1 + 150.0;
    let others = (0..backups.spawns.len()).filter(|n| *n != backups.spawned);
    for (n, x) in others.zip([290.0, 393.0, 496.0]) {
        let at = (left + x, y);
        canvas.line(vec![from, at], Ink::Line, 2.0);
        canvas.ring(at, 13.0, Ink::Line);
        let [tile, chance] = spawn_texts(backups, n);
        let style = look(17.0).ink(Ink::Muted).middle();
        canvas.text((at.0, y + 36.0), &tile, style);
        canvas.text((at.0, y + 58.0), &chance, style);
    }
    let came = (left + 140.0, y);
    canvas.line(vec![from, came], Ink::Blue, 3.5);
    canvas.dot(from, 11.0, Ink::Blue);
    canvas.ring(came, 15.0, Ink::Blue);
    let [tile, chance] = spawn_texts(backups, backups.spawned);
    let style = look(18.0).ink(Ink::Blue).end();
    canvas.text((came.0 - 26.0, y - 4.0), &tile, style);
    canvas.text((came.0 - 26.0, y + 18.0), &chance, style);
    came
}

/// The tile of a spawn with its cell, and its probability.
fn spawn_texts(backups: &Backups, n: usize) -> [String; 2] {
    let (cell, tile, chance) = backups.spawns[n];
    let tile = PowersOfTwo.tile_value(tile);
    [
        format!("{tile} in cell {cell}"),
        format!("p = {}", places(chance, 3)),
    ]
}

fn update_box(canvas: &mut Canvas, left: f32, lines: [&str; 3]) {
    let area = Area::new(left, 772.0, 528.0, 148.0);
    canvas.fill(area, Fill::Panel);
    for (n, line) in lines.into_iter().enumerate() {
        let size = if n == 0 {
            look(21.0).ink(Ink::Muted)
        } else {
            look(22.0).bold()
        };
        canvas.text((left + 20.0, 812.0 + 42.0 * n as f32), line, size);
    }
}

fn rule(row: &Row, name: &str) -> String {
    format!(
        "V({name}) ← {} + {} ({} − {}) = {}",
        number(row.value),
        number(ALPHA),
        number(row.target),
        number(row.value),
        number(row.after)
    )
}

fn afterstate_backup(canvas: &mut Canvas, backups: &Backups, example: &Example) {
    let left = MARGIN;
    canvas.text((left, TOP + 26.0), "V(afterstate)", look(24.0).bold());
    let root = (left + 264.0, TOP + 90.0);
    let shape = example.game.shape();
    let first = example.moves[0];
    canvas.board(
        (root.0 - 150.0, root.1 - 40.0),
        40.0,
        shape,
        &board_cells(first.after.0, shape),
    );
    let value = format!("Y_{{0}}, V = {}", number(backups.afterstate.value));
    canvas.label((root.0 + 26.0, root.1 - 6.0), &value, look(21.0).bold());
    let came = spawn_circles(canvas, backups, root, left);
    next_state(canvas, came, "S_{1}");
    let y = came.1 + 240.0;
    let place = |n: usize| (left + 66.0 + 182.0 * n as f32, y);
    for n in 0..backups.slides.len() {
        if n != backups.chosen {
            canvas.line(vec![came, place(n)], Ink::Line, 2.0);
            canvas.dot(place(n), 10.0, Ink::Line);
        }
    }
    let chosen = place(backups.chosen);
    canvas.line(vec![came, chosen], Ink::Blue, 3.5);
    canvas.dot(chosen, 11.0, Ink::Blue);
    canvas.ring(came, 15.0, Ink::Blue);
    let style = look(21.0).bold().ink(Ink::Blue);
    canvas.label((chosen.0 + 22.0, y - 6.0), "Y_{1}", style);
    arc(canvas, came, [place(0), place(backups.slides.len() - 1)]);
    for (n, &(direction, reward, value, total)) in backups.slides.iter().enumerate() {
        let ink = if n == backups.chosen {
            Ink::Blue
        } else {
            Ink::Muted
        };
        let (x, y) = place(n);
        canvas.text(
            (x, y + 42.0),
            direction.name(),
            look(20.0).ink(ink).middle(),
        );
        let text = format!("{reward} + {} = {}", number(value), number(total));
        canvas.text((x, y + 70.0), &text, look(21.0).bold().ink(ink).middle());
    }
    canvas.text(
        (left, 744.0),
        "each slide: r + V of its afterstate",
        look(18.0).ink(Ink::Muted),
    );
    let (_, reward, next, target) = backups.slides[backups.chosen];
    update_box(
        canvas,
        left,
        [
            "a spawn is sampled, the best slide is chosen",
            &format!(
                "target R_{{2}} + V(Y_{{1}}) = {reward} + {} = {}",
                number(next),
                number(target)
            ),
            &rule(&backups.afterstate, "Y_{0}"),
        ],
    );
}

/// The name of the next state, above its spawn.
fn next_state(canvas: &mut Canvas, (x, y): (f32, f32), text: &str) {
    let style = look(21.0).bold().ink(Ink::Blue).end();
    canvas.text((x - 26.0, y - 28.0), text, style);
}

/// The arc of a maximum below a circle, between the lines to its first and last successor.
fn arc(canvas: &mut Canvas, from: (f32, f32), ends: [(f32, f32); 2]) {
    let angle = |(x, y): (f32, f32)| (y - from.1).atan2(x - from.0);
    let (a, b) = (angle(ends[0]), angle(ends[1]));
    let radius = 62.0;
    let point = |k: usize| {
        let angle = a + (b - a) * k as f32 / 12.0;
        (from.0 + radius * angle.cos(), from.1 + radius * angle.sin())
    };
    canvas.line((0..=12).map(point).collect(), Ink::Main, 2.5);
    let (x, y) = point(0);
    canvas.text((x - 12.0, y + 18.0), "max", look(20.0).end());
}

fn state_backup(canvas: &mut Canvas, backups: &Backups, example: &Example) {
    let left = 636.0;
    canvas.text((left, TOP + 26.0), "V(state)", look(24.0).bold());
    let root = (left + 264.0, TOP + 90.0);
    let shape = example.game.shape();
    let first = example.moves[0];
    canvas.board(
        (root.0 - 150.0, root.1 - 40.0),
        40.0,
        shape,
        &board_cells(first.state.0, shape),
    );
    let dot = (root.0, root.1 + 170.0);
    canvas.line(vec![root, dot], Ink::Blue, 3.5);
    canvas.ring(root, 15.0, Ink::Blue);
    let value = format!("S_{{0}}, V = {}", number(backups.state.value));
    canvas.label((root.0 + 26.0, root.1 - 6.0), &value, look(21.0).bold());
    let slide = format!("{}, R_{{1}} = {}", first.direction.name(), first.reward);
    canvas.label((root.0 + 26.0, root.1 + 85.0), &slide, look(21.0));
    canvas.label((dot.0 + 26.0, dot.1 - 6.0), "Y_{0}", look(21.0).bold());
    let came = spawn_circles(canvas, backups, dot, left);
    let next = backups.state.target - first.reward as f32;
    next_state(canvas, came, "S_{1}");
    let value = format!("V = {}", number(next));
    let style = look(21.0).bold().ink(Ink::Blue).middle();
    canvas.text((came.0, came.1 + 54.0), &value, style);
    canvas.text(
        (left, 744.0),
        "a slide is chosen by r + mean of V over all spawns",
        look(18.0).ink(Ink::Muted),
    );
    update_box(
        canvas,
        left,
        [
            "slide and spawn are those of the game",
            &format!(
                "target R_{{1}} + V(S_{{1}}) = {} + {} = {}",
                first.reward,
                number(next),
                number(backups.state.target)
            ),
            &rule(&backups.state, "S_{0}"),
        ],
    );
}
