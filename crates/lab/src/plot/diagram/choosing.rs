//! How a move is chosen by V(afterstate) and by V(state), as trees.

use afterstate::game::{After, GridBoard, State};

use super::Theme;
use super::canvas::{Area, Canvas, Fill, Ink, MARGIN, TOP, WIDTH, look};
use super::text::{board_cells, number, places};
use super::worked::{self, Choice, Choices};
use crate::plot::{Plot, PlotError};

/// The tree by V(afterstate): the reward of each slide plus one value.
///
/// # Errors
/// When the system refuses the memory of the network.
pub fn choose_by_afterstate(theme: Theme) -> Result<Plot, PlotError> {
    let example = worked::choices()?;
    let title = "Choosing a move by V(afterstate)";
    let about = "The reward of each legal slide plus the value of its afterstate; the largest total is chosen.";
    let mut canvas = Canvas::new((WIDTH, 570.0), theme, title, about)?;
    let row = 140.0;
    let middle = |n: usize| TOP + 30.0 + row / 2.0 + row * n as f32;
    let heights: Vec<f32> = (0..example.choices.len()).map(middle).collect();
    branches(&mut canvas, &example, &heights, example.best[0], 500.0);
    let heads = look(20.0).ink(Ink::Muted).middle();
    canvas.text((WIDTH - MARGIN - 131.0, TOP + 22.0), "r + V", heads);
    for (n, choice) in example.choices.iter().enumerate() {
        let y = heights[n];
        let best = n == example.best[0];
        let value = format!("V = {}", number(choice.value));
        canvas.label((720.0, y), &value, look(23.0));
        total(
            &mut canvas,
            (choice.reward, choice.value, choice.total),
            y,
            best,
        );
    }
    Ok(canvas.finish("choose-by-afterstate"))
}

/// The root, and a branch to the afterstate of each slide.
fn branches(canvas: &mut Canvas, example: &Choices, heights: &[f32], best: usize, x: f32) {
    let middle = (heights[0] + heights[heights.len() - 1]) / 2.0;
    let State(root) = example.state;
    let cell = 60.0;
    board(canvas, root, example, (MARGIN, middle), cell);
    let start = MARGIN + 3.0 * cell + 12.0;
    for (n, choice) in example.choices.iter().enumerate() {
        let y = heights[n];
        let (ink, width) = if n == best {
            (Ink::Green, 4.0)
        } else {
            (Ink::Line, 2.5)
        };
        let bend = start + 26.0;
        let points = vec![(start, middle), (bend, y), (x - 12.0, y)];
        canvas.arrow(points, ink, width);
        let ink = if n == best { Ink::Green } else { Ink::Main };
        let text = format!("{}, r = {}", choice.direction.name(), choice.reward);
        canvas.text((bend + 14.0, y - 14.0), &text, look(22.0).bold().ink(ink));
        let After(after) = choice.after;
        board(canvas, after, example, (x, y), 54.0);
    }
}

/// A board whose left side is here, around a height.
fn board(canvas: &mut Canvas, board: GridBoard, example: &Choices, (x, y): (f32, f32), cell: f32) {
    let shape = example.shape;
    let top = y - cell * shape.rows() as f32 / 2.0;
    canvas.board((x, top), cell, shape, &board_cells(board, shape));
}

/// The total at the right margin.
fn total(canvas: &mut Canvas, (reward, value, total): (u32, f32, f32), y: f32, best: bool) {
    let area = Area::new(WIDTH - MARGIN - 262.0, y - 30.0, 262.0, 60.0);
    canvas.fill(area, if best { Fill::Green } else { Fill::Panel });
    let text = format!("{reward} + {} = {}", number(value), number(total));
    let ink = if best { Ink::Green } else { Ink::Main };
    canvas.label(area.centre(), &text, look(24.0).bold().middle().ink(ink));
}

/// The tree by V(state): the reward of each slide plus the mean over all spawns.
///
/// # Errors
/// When the system refuses the memory of the network.
pub fn choose_by_state(theme: Theme) -> Result<Plot, PlotError> {
    const LEAF: f32 = 82.0;
    const GAP: f32 = 26.0;
    let example = worked::choices()?;
    let title = "Choosing a move by V(state)";
    let about = "The reward of each legal slide plus the mean of V over all spawns; the largest total is chosen.";
    let leaves: usize = example
        .choices
        .iter()
        .map(|choice| choice.successors.len())
        .sum();
    let height = TOP + 50.0 + LEAF * leaves as f32 + GAP * example.choices.len() as f32;
    let mut canvas = Canvas::new((WIDTH, height), theme, title, about)?;
    let mut top = TOP + 44.0;
    let mut heights = Vec::new();
    for choice in &example.choices {
        let size = LEAF * choice.successors.len() as f32;
        heights.push(top + size / 2.0);
        top += size + GAP;
    }
    branches(&mut canvas, &example, &heights, example.best[1], 430.0);
    let heads = look(20.0).ink(Ink::Muted);
    canvas.text((764.0, TOP + 22.0), "p × V", heads);
    let total_at = WIDTH - MARGIN - 131.0;
    canvas.text((total_at, TOP + 22.0), "r + mean", heads.middle());
    for (n, choice) in example.choices.iter().enumerate() {
        let best = n == example.best[1];
        successors(&mut canvas, &example, choice, heights[n], LEAF);
        let y = heights[n];
        let text = format!("mean {}", number(choice.mean));
        canvas.text(
            (WIDTH - MARGIN - 131.0, y - 46.0),
            &text,
            look(22.0).middle(),
        );
        total(
            &mut canvas,
            (choice.reward, choice.mean, choice.mean_total),
            y,
            best,
        );
    }
    Ok(canvas.finish("choose-by-state"))
}

/// The spawns after one slide.
fn successors(canvas: &mut Canvas, example: &Choices, choice: &Choice, middle: f32, leaf: f32) {
    let start = 430.0 + 3.0 * 54.0 + 8.0;
    let count = choice.successors.len() as f32;
    for (n, &(State(next), chance, value)) in choice.successors.iter().enumerate() {
        let y = middle + (n as f32 - (count - 1.0) / 2.0) * leaf;
        canvas.line(
            vec![(start, middle), (start + 22.0, y), (start + 34.0, y)],
            Ink::Line,
            2.0,
        );
        board(canvas, next, example, (start + 40.0, y), 36.0);
        let text = format!("{} × {}", places(chance, 3), number(value));
        canvas.label((start + 164.0, y), &text, look(21.0));
    }
}
