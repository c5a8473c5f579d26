//! Drawings of learning on the example's game: TD(0) beside Monte Carlo, TD(lambda), and the two
//! published flaws.

use super::Theme;
use super::canvas::{Area, Canvas, Fill, Ink, MARGIN, TOP, WIDTH, look};
use super::text::{board_cells, number, places};
use super::worked::{self, ALPHA, Example, Flaw, LAMBDA, PassRow, REPEATS, Row};
use crate::plot::{Plot, PlotError};
use afterstate::game::{Game, State};

/// The middle of each state's column, and of the end.
const COLUMNS: [f32; 5] = [160.0, 400.0, 640.0, 880.0, 1090.0];

/// The sum of numbers as a text: `4 + 8 = 12`, or the number alone.
fn sum(parts: &[f32]) -> String {
    let text: Vec<String> = parts.iter().map(|&part| number(part)).collect();
    let total: f32 = parts.iter().sum();
    match text.len() {
        1 => text[0].clone(),
        _ => format!(
            "{} = {}",
            text.join(" + ").replace("+ −", "− "),
            number(total)
        ),
    }
}

/// The states of the game with their rewards and values, from the left to the right.
fn timeline(canvas: &mut Canvas, example: &Example, values: &[f32], top: f32) {
    let shape = example.game.shape();
    let cell = 46.0;
    let ends = example.moves.iter().map(|step| step.state);
    let states: Vec<_> = ends.chain([example.end]).collect();
    for (t, (&State(board), x)) in states.iter().zip(COLUMNS).enumerate() {
        canvas.board(
            (x - cell, top + 12.0),
            cell,
            shape,
            &board_cells(board, shape),
        );
        canvas.text((x, top), &format!("S_{{{t}}}"), look(22.0).bold().middle());
        let below = match values.get(t) {
            Some(&value) => format!("V = {}", number(value)),
            None => "the end".to_owned(),
        };
        canvas.text((x, top + 136.0), &below, look(22.0).middle());
    }
    for (t, step) in example.moves.iter().enumerate() {
        let (from, to) = (COLUMNS[t] + cell + 12.0, COLUMNS[t + 1] - cell - 12.0);
        let (middle, y) = ((from + to) / 2.0, top + 12.0 + cell);
        canvas.arrow(vec![(from, y), (to, y)], Ink::Muted, 2.5);
        let reward = format!("R_{{{}}} = {}", t + 1, step.reward);
        canvas.text((middle, y - 14.0), &reward, look(20.0).bold().middle());
        let slide = step.direction.name();
        canvas.text(
            (middle, y + 30.0),
            slide,
            look(18.0).ink(Ink::Muted).middle(),
        );
    }
}

/// A panel with a heading.
fn panel(canvas: &mut Canvas, top: f32, height: f32, heading: &str, ink: Ink) {
    let area = Area::new(MARGIN - 12.0, top, WIDTH - 2.0 * MARGIN + 24.0, height);
    canvas.fill(area, Fill::Panel);
    canvas.text(
        (MARGIN + 4.0, top + 34.0),
        heading,
        look(22.0).bold().ink(ink),
    );
}

/// V before and after, below each state.
fn changes(canvas: &mut Canvas, rows: &[Row], y: f32, ink: Ink) {
    for (row, x) in rows.iter().zip(COLUMNS) {
        let text = format!("V: {} → {}", number(row.value), number(row.after));
        canvas.text((x, y), &text, look(22.0).bold().middle().ink(ink));
    }
}

/// TD(0) beside Monte Carlo on one game: what each state moves towards.
///
/// # Errors
/// When the system refuses the memory of the network.
pub fn td_monte_carlo(theme: Theme) -> Result<Plot, PlotError> {
    let example = worked::example();
    let values = example.values(&example.network()?);
    let (td, monte_carlo) = (example.td()?, example.monte_carlo()?);
    let title = "TD(0) beside Monte Carlo: what each state moves towards";
    let about = format!(
        "One game of 2048 on 2x2. Each value moves the share α = {} of the way to its target; γ = 1.",
        number(ALPHA)
    );
    let mut canvas = Canvas::new((WIDTH, 970.0), theme, title, &about)?;
    timeline(&mut canvas, &example, &values, TOP + 28.0);

    let top = 300.0;
    let heading = "TD(0): R_{t+1} + V(S_{t+1}), known one move later";
    panel(&mut canvas, top, 218.0, heading, Ink::Blue);
    for (t, row) in td.iter().enumerate() {
        let y = top + 112.0;
        let (from, to) = (COLUMNS[t + 1] - 14.0, COLUMNS[t] + 14.0);
        canvas.arrow(vec![(from, y), (to, y)], Ink::Blue, 2.5);
        let next = values.get(t + 1).copied().unwrap_or(0.0);
        let reward = example.moves[t].reward as f32;
        let text = sum(&[reward, next]);
        canvas.text((COLUMNS[t] + 30.0, y - 16.0), &text, look(21.0));
        canvas.dot((COLUMNS[t], y), 7.0, Ink::Blue);
        debug_assert_eq!(reward + next, row.target);
    }
    canvas.ring((COLUMNS[4], top + 112.0), 9.0, Ink::Blue);
    changes(&mut canvas, &td, top + 160.0, Ink::Blue);
    let note = "Targets contain estimates: less noise, but wrong while the estimates are wrong.";
    canvas.text(
        (MARGIN + 4.0, top + 198.0),
        note,
        look(19.0).ink(Ink::Muted),
    );

    let top = top + 240.0;
    let heading =
        "Monte Carlo: G_{t} = R_{t+1} + R_{t+2} + ... + R_{T}, known at the end of the game";
    panel(&mut canvas, top, 392.0, heading, Ink::Orange);
    let rewards = example.rewards();
    for t in 0..monte_carlo.len() {
        let y = top + 96.0 + 58.0 * t as f32;
        let from = COLUMNS[4] - 14.0;
        canvas.arrow(vec![(from, y), (COLUMNS[t] + 14.0, y)], Ink::Orange, 2.5);
        canvas.dot((COLUMNS[t], y), 7.0, Ink::Orange);
        canvas.ring((COLUMNS[4], y), 9.0, Ink::Orange);
        let text = sum(&rewards[t..]);
        canvas.text((COLUMNS[t] + 30.0, y - 16.0), &text, look(21.0));
    }
    changes(&mut canvas, &monte_carlo, top + 326.0, Ink::Orange);
    let note = "Targets are what the game earned: right on average, but one game is noisy.";
    canvas.text(
        (MARGIN + 4.0, top + 370.0),
        note,
        look(19.0).ink(Ink::Muted),
    );
    Ok(canvas.finish("td-monte-carlo"))
}

/// TD(lambda): the weights of the n-step returns, and the backward pass with numbers.
///
/// # Errors
/// When the system refuses the memory of the network.
pub fn td_lambda(theme: Theme) -> Result<Plot, PlotError> {
    let example = worked::example();
    let returns = example.n_step_returns()?;
    let pass = example.td_lambda()?;
    let title = "TD(λ): a mean of all n-step returns, computed backwards";
    let about = format!(
        "The same game; λ = {}, α = {}, γ = 1. ○ a state, ● an afterstate.",
        number(LAMBDA),
        number(ALPHA)
    );
    let mut canvas = Canvas::new((WIDTH, 1140.0), theme, title, &about)?;
    let top = TOP + 22.0;
    for (n, &(result, weight)) in returns.iter().enumerate() {
        let x = 110.0 + 190.0 * n as f32;
        let steps = n + 1;
        let last = steps == returns.len();
        let name = match (last, steps) {
            (true, _) => "to the end".to_owned(),
            (_, 1) => "1 step".to_owned(),
            _ => format!("{steps} steps"),
        };
        canvas.text((x, top), &name, look(20.0).middle());
        chain(&mut canvas, (x, top + 30.0), steps, last);
        let y = top + 326.0;
        let bar = 180.0 * weight;
        canvas.fill(Area::new(x - 40.0, y + 130.0 - bar, 80.0, bar), Fill::Blue);
        canvas.text(
            (x, y + 158.0),
            &places(f64::from(weight), 3),
            look(21.0).bold().middle(),
        );
        let share = match (last, n) {
            (true, _) => format!("λ^{{{n}}}"),
            (_, 0) => "1 − λ".to_owned(),
            (_, 1) => "(1 − λ) λ".to_owned(),
            _ => format!("(1 − λ) λ^{{{n}}}"),
        };
        canvas.text((x, y + 188.0), &share, look(19.0).ink(Ink::Muted).middle());
        let name = if last {
            "G_{0}".to_owned()
        } else {
            format!("G_{{0:{steps}}}")
        };
        let text = format!("{name} = {}", number(result));
        canvas.text((x, y + 224.0), &text, look(21.0).bold().middle());
    }
    mean_of_returns(&mut canvas, &returns, top);
    let top = 716.0;
    let heading = "The backward pass: target = R_{t+1} + z, then z = λ target + (1 − λ) V(S_{t})";
    panel(&mut canvas, top, 400.0, heading, Ink::Blue);
    let values = example.values(&example.network()?);
    timeline(&mut canvas, &example, &values, top + 82.0);
    pass_rows(&mut canvas, &pass, top + 244.0, Ink::Blue);
    let note = "V(S_{t}) in z is the value after its update.";
    canvas.text(
        (MARGIN + 4.0, top + 380.0),
        note,
        look(19.0).ink(Ink::Muted),
    );
    Ok(canvas.finish("td-lambda"))
}

/// The chain of states and afterstates of an n-step return; a square is the end of the game.
fn chain(canvas: &mut Canvas, (x, y): (f32, f32), steps: usize, last: bool) {
    let gap = 37.0;
    let links = 2 * steps;
    canvas.line(vec![(x, y), (x, y + gap * links as f32)], Ink::Blue, 3.0);
    for k in 0..=links {
        let at = (x, y + gap * k as f32);
        if k % 2 == 1 {
            canvas.dot(at, 8.0, Ink::Blue);
        } else if last && k == links {
            let area = Area::new(at.0 - 11.0, at.1 - 11.0, 22.0, 22.0);
            canvas.fill(area, Fill::Page);
            canvas.frame(area, Ink::Blue, 3.0);
        } else {
            canvas.ring(at, 11.0, Ink::Blue);
        }
    }
}

fn mean_of_returns(canvas: &mut Canvas, returns: &[(f32, f32)], top: f32) {
    let x = 850.0;
    canvas.text((x, top), "The λ-return of S_{0}", look(22.0).bold());
    let mut y = top + 44.0;
    let mut mean = 0.0;
    for (n, &(result, weight)) in returns.iter().enumerate() {
        mean += weight * result;
        let part = format!("{} × {}", places(f64::from(weight), 3), number(result));
        let plus = if n == 0 { "" } else { "+ " };
        canvas.text((x + 190.0, y), &format!("{plus}{part}"), look(21.0).end());
        let product = format!("= {}", number(weight * result));
        canvas.text((x + 212.0, y), &product, look(21.0));
        y += 36.0;
    }
    canvas.line(vec![(x, y - 18.0), (x + 310.0, y - 18.0)], Ink::Line, 1.5);
    canvas.text((x + 190.0, y + 14.0), "λ-return", look(22.0).bold().end());
    let total = format!("= {}", number(mean));
    canvas.text(
        (x + 212.0, y + 14.0),
        &total,
        look(22.0).bold().ink(Ink::Blue),
    );
    for (n, line) in [
        "□ is the end of the game.",
        "λ = 0: only the first: TD(0).",
        "λ = 1: only the last: Monte Carlo.",
    ]
    .into_iter()
    .enumerate()
    {
        let at = (x, y + 74.0 + 34.0 * n as f32);
        canvas.text(at, line, look(20.0).ink(Ink::Muted));
    }
}

/// The numbers of a backward pass below the states: what is carried, the target, V.
fn pass_rows(canvas: &mut Canvas, rows: &[PassRow], top: f32, ink: Ink) {
    for (t, pass) in rows.iter().enumerate() {
        let y = top + 20.0;
        let (from, to) = (COLUMNS[t + 1] - 14.0, COLUMNS[t] + 14.0);
        canvas.arrow(vec![(from, y), (to, y)], ink, 2.5);
        let text = format!("z = {}", number(pass.z));
        let middle = (from + to) / 2.0;
        canvas.text((middle, y - 12.0), &text, look(20.0).middle());
        canvas.dot((COLUMNS[t], y), 7.0, ink);
        let target = sum(&[pass.reward, pass.z]);
        canvas.text((COLUMNS[t], y + 44.0), &target, look(21.0).middle());
    }
    canvas.ring((COLUMNS[4], top + 20.0), 9.0, ink);
    let updates: Vec<Row> = rows.iter().map(|pass| pass.row).collect();
    changes(canvas, &updates, top + 100.0, ink);
}

/// The values after the game was learned again and again.
fn limits(canvas: &mut Canvas, flaw: &Flaw, y: f32, ink: Ink) {
    for (value, x) in flaw.limit.iter().zip(COLUMNS) {
        canvas.text(
            (x, y),
            &format!("V → {}", number(*value)),
            look(21.0).middle().ink(ink),
        );
    }
    let text = "if repeated";
    canvas.text((COLUMNS[4], y), text, look(19.0).ink(Ink::Muted).middle());
}

/// The reward that two reports count twice, beside the textbook.
///
/// # Errors
/// When the system refuses the memory of the network.
pub fn reward_twice(theme: Theme) -> Result<Plot, PlotError> {
    let example = worked::example();
    let values = example.values(&example.network()?);
    let title = "A flaw as published: each reward is counted twice";
    let about = format!(
        "The DLP lab report, 2021, backward TD(0) on states. α = {}; \"if repeated\": after {REPEATS} such games.",
        number(ALPHA)
    );
    let mut canvas = Canvas::new((WIDTH, 820.0), theme, title, &about)?;
    timeline(&mut canvas, &example, &values, TOP + 28.0);
    let panels = [
        ("Textbook: z = V(S_{t})", example.textbook()?, Ink::Blue),
        (
            "As published: z = R_{t+1} + V(S_{t})",
            example.reward_twice()?,
            Ink::Red,
        ),
    ];
    for (n, (heading, flaw, ink)) in panels.into_iter().enumerate() {
        let top = 300.0 + 256.0 * n as f32;
        panel(&mut canvas, top, 240.0, heading, ink);
        pass_rows(&mut canvas, &flaw.first, top + 64.0, ink);
        limits(&mut canvas, &flaw, top + 208.0, ink);
    }
    Ok(canvas.finish("reward-twice"))
}

/// The odd end of DLP Homework 2, beside the textbook.
///
/// # Errors
/// When the system refuses the memory of the network.
pub fn odd_end(theme: Theme) -> Result<Plot, PlotError> {
    let example = worked::example();
    let values = example.values(&example.network()?);
    let title = "A flaw as published: the end of the game";
    let about = format!(
        "DLP Homework 2, 2021, backward TD(0) on states. α = {}; \"if repeated\": after {REPEATS} such games.",
        number(ALPHA)
    );
    let mut canvas = Canvas::new((WIDTH, 820.0), theme, title, &about)?;
    timeline(&mut canvas, &example, &values, TOP + 28.0);
    let textbook = example.textbook()?;
    panel(
        &mut canvas,
        300.0,
        240.0,
        "Textbook: the last state moves towards its reward",
        Ink::Blue,
    );
    pass_rows(&mut canvas, &textbook.first, 364.0, Ink::Blue);
    limits(&mut canvas, &textbook, 508.0, Ink::Blue);
    let flaw = example.odd_end()?;
    let last = flaw.first.len() - 1;
    let heading = "As published: the last state is not updated, and the one before moves towards R_{3} − V(S_{3})";
    panel(&mut canvas, 556.0, 240.0, heading, Ink::Red);
    pass_rows(&mut canvas, &flaw.first[..last], 620.0, Ink::Red);
    canvas.dot((COLUMNS[last], 640.0), 7.0, Ink::Line);
    let style = look(21.0).middle().ink(Ink::Muted);
    canvas.text((COLUMNS[last], 684.0), "no target", style);
    let kept = format!("V: {}", number(flaw.first[last].row.value));
    canvas.text(
        (COLUMNS[last], 720.0),
        &kept,
        look(22.0).bold().middle().ink(Ink::Muted),
    );
    limits(&mut canvas, &flaw, 764.0, Ink::Red);
    Ok(canvas.finish("odd-end"))
}
