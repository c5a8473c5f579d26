//! TC: the sums and steps of one weight.

use super::Theme;
use super::canvas::{Area, Canvas, Fill, Ink, MARGIN, TOP, WIDTH, look};
use super::text::number;
use super::worked::{self, ALPHA, COHERENCE_ROWS, CoherenceRow};
use crate::plot::{Plot, PlotError};

/// One of the numbers of an update.
type Of = fn(&CoherenceRow) -> f32;

/// Where the charts begin.
const LEFT: f32 = 110.0;

/// The middle of the column of an update in the charts.
fn column(n: usize) -> f32 {
    LEFT + 40.0 + 25.4 * n as f32
}

/// A weight that gets noisy targets: by TC with b = 1 and by TD, with E, A and the ratio.
///
/// # Errors
/// When the system refuses the memory of the network.
pub fn coherence(theme: Theme) -> Result<Plot, PlotError> {
    let rows = worked::coherence()?;
    let title = "TC: the step of a weight falls as its errors cancel out";
    let about = "One weight, targets of 20 with noise. Step: |E|/A of the error δ. Then E grows by δ and A by |δ|.";
    let mut canvas = Canvas::new((WIDTH, 1070.0), theme, title, about)?;
    legend(&mut canvas);
    weights(&mut canvas, &rows);
    ratios(&mut canvas, &rows);
    table(&mut canvas, &rows[..COHERENCE_ROWS]);
    Ok(canvas.finish("coherence"))
}

fn legend(canvas: &mut Canvas) {
    let y = TOP + 18.0;
    let mut x = MARGIN + 4.0;
    let td = format!("the weight by TD, α = {}", number(ALPHA));
    for (text, ink, open) in [
        ("target", Ink::Muted, true),
        ("the weight by TC, b = 1", Ink::Blue, false),
        (td.as_str(), Ink::Orange, false),
    ] {
        if open {
            canvas.ring((x + 9.0, y), 7.0, ink);
        } else {
            canvas.line(vec![(x, y), (x + 20.0, y)], ink, 4.0);
        }
        let style = look(20.0);
        canvas.label((x + 30.0, y), text, style);
        x += 30.0 + canvas.room(text, style) + 44.0;
    }
}

fn weights(canvas: &mut Canvas, rows: &[CoherenceRow]) {
    let (top, bottom) = (TOP + 50.0, TOP + 340.0);
    let height = |value: f32| bottom - (bottom - top) * value / 30.0;
    for value in [0.0, 10.0, 20.0, 30.0] {
        let y = height(value);
        canvas.line(vec![(LEFT, y), (WIDTH - MARGIN, y)], Ink::Line, 1.0);
        canvas.label((98.0, y), &number(value), look(19.0).ink(Ink::Muted).end());
    }
    for (n, row) in rows.iter().enumerate() {
        canvas.ring((column(n), height(row.target)), 7.0, Ink::Muted);
    }
    let start = (column(0) - 25.4, height(0.0));
    let lines: [(Of, Ink); 2] = [(|row| row.td, Ink::Orange), (|row| row.weight, Ink::Blue)];
    for (of, ink) in lines {
        let mut points = vec![start];
        points.extend(
            rows.iter()
                .enumerate()
                .map(|(n, row)| (column(n), height(of(row)))),
        );
        canvas.line(points, ink, 4.0);
    }
}

fn ratios(canvas: &mut Canvas, rows: &[CoherenceRow]) {
    let (top, bottom) = (TOP + 372.0, TOP + 512.0);
    for (share, name) in [(1.0, "1"), (0.5, "0.5"), (0.0, "0")] {
        let y = bottom - (bottom - top) * share;
        canvas.line(vec![(LEFT, y), (WIDTH - MARGIN, y)], Ink::Line, 1.0);
        canvas.label((98.0, y), name, look(19.0).ink(Ink::Muted).end());
    }
    canvas.label((MARGIN, top + 35.0), "|E|/A", look(20.0).bold());
    for (n, row) in rows.iter().enumerate() {
        let size = (bottom - top) * row.ratio;
        canvas.fill(
            Area::new(column(n) - 9.0, bottom - size, 18.0, size),
            Fill::Blue,
        );
    }
    let style = look(19.0).ink(Ink::Muted).middle();
    for n in (0..rows.len()).filter(|n| *n == 0 || (n + 1) % 10 == 0) {
        canvas.text((column(n), bottom + 26.0), &(n + 1).to_string(), style);
    }
}

/// The numbers of the first updates.
fn table(canvas: &mut Canvas, rows: &[CoherenceRow]) {
    let lines: [(&str, Of, Ink); 7] = [
        ("target", |row| row.target, Ink::Muted),
        ("error δ", |row| row.delta, Ink::Main),
        ("|E|/A before", |row| row.ratio, Ink::Main),
        ("step", |row| row.step, Ink::Blue),
        ("weight", |row| row.weight, Ink::Blue),
        ("E after", |row| row.error_sum, Ink::Main),
        ("A after", |row| row.absolute_sum, Ink::Main),
    ];
    let top = TOP + 632.0;
    let across = |n: usize| 280.0 + 124.0 * n as f32;
    canvas.text((MARGIN, top - 44.0), "update", look(20.0).ink(Ink::Muted));
    for n in 0..rows.len() {
        let style = look(20.0).ink(Ink::Muted).end();
        canvas.text((across(n), top - 44.0), &(n + 1).to_string(), style);
    }
    for (k, (name, of, ink)) in lines.into_iter().enumerate() {
        let y = top + 48.0 * k as f32;
        let rule = y - 30.0;
        canvas.line(vec![(MARGIN, rule), (WIDTH - MARGIN, rule)], Ink::Line, 1.0);
        canvas.text((MARGIN, y), name, look(20.0).bold().ink(ink));
        for (n, row) in rows.iter().enumerate() {
            canvas.text((across(n), y), &number(of(row)), look(20.0).end().ink(ink));
        }
    }
}
