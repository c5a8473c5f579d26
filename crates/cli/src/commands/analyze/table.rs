//! An analysis as text.

use std::fmt::{Display, Write};

use afterstate_lab::analyze::{Analysis, Move, RolloutScore, TileChance, line_text};

use super::Presentation;
use crate::output::{count, grouped, percent};

/// The tables of an analysis, and its best line.
pub(super) fn text<V: Display + Copy>(
    analysis: &Analysis<V>,
    presentation: &Presentation,
) -> String {
    let mut text = values(analysis, presentation);
    text += &rollouts(analysis);
    let best = analysis.best.map(|best| &analysis.moves[best as usize]);
    if let Some(line) = best.and_then(|best| best.line.as_ref()) {
        text = text + "\nbest line: " + &line_text(line) + "\n";
    }
    text
}

/// The values of all moves.
fn values<V: Display + Copy>(analysis: &Analysis<V>, presentation: &Presentation) -> String {
    let target = presentation
        .target
        .map(|target| format!("probability of {target}, points lost"));
    let mut text = format!(
        "{:<9} {:>8} {:>12} {:>12} {:>12}  {}\n",
        "move",
        "reward",
        "value",
        "total",
        "loss",
        target.unwrap_or_default()
    );
    text.truncate(text.trim_end().len());
    text.push('\n');
    for m in &analysis.moves {
        text += &row(analysis, presentation, m);
    }
    if analysis.best.is_none() {
        text = text + presentation.over + "\n";
    }
    text
}

fn row<V: Display + Copy>(
    analysis: &Analysis<V>,
    presentation: &Presentation,
    m: &Move<V>,
) -> String {
    let mut remark = String::new();
    if analysis.best == Some(m.direction) && m.total.is_some() {
        remark.push_str("  <- best");
    }
    if analysis.best_for_target() == Some(m.direction) {
        remark.push_str("  <- best for the target");
    }
    match (m.reward, m.value, m.total) {
        (Some(reward), Some(value), Some(total)) => {
            let win = m.win_probability.flatten();
            let win = win.map(|win| {
                let lost = m.win_loss.unwrap_or_default();
                format!("{win:>14.8}{lost:>13.6}")
            });
            let loss = m.loss.map(|loss| format!("{loss:.*}", presentation.digits));
            format!(
                "{:<9} {reward:>8} {value:>12.digits$} {total:>12.digits$} {:>12}{}{remark}\n",
                m.direction.name(),
                loss.unwrap_or_default(),
                win.unwrap_or_default(),
                digits = presentation.digits
            )
        }
        (Some(reward), ..) => format!(
            "{:<9} {reward:>8} {:>12} {:>12}{remark}\n",
            m.direction.name(),
            "-",
            "-"
        ),
        _ => format!("{:<9} {:>8}\n", m.direction.name(), "illegal"),
    }
}

/// The chances of the next tiles after each move; nothing without rollouts.
fn rollouts<V>(analysis: &Analysis<V>) -> String {
    let Some(info) = analysis.rollouts.as_ref().filter(|info| info.games > 0) else {
        return String::new();
    };
    let found = |m: &Move<V>| Some((m.direction, m.chances.clone()?, m.rest?));
    let found: Vec<_> = analysis.moves.iter().filter_map(found).collect();
    let Some((_, first, _)) = found.first() else {
        return String::new();
    };
    // The first tile and the one that was asked for are always shown, others only if a game has
    // reached them.
    let is_reached = |place: usize| found.iter().any(|(_, chances, _)| chances[place].p > 0.0);
    let is_shown =
        |&place: &usize| place == 0 || is_reached(place) || info.tile == Some(first[place].tile);
    let shown: Vec<usize> = (0..first.len()).filter(is_shown).collect();
    // Writing to a string cannot fail.
    let mut text = format!(
        "\nrollouts: {} for each move by {}, seed {}, with 95% intervals\n",
        count(info.games, "game"),
        info.search,
        info.seed
    );
    let _ = write!(text, "{:<9} {:<32}", "move", "score of the rest");
    for &place in &shown {
        let _ = write!(text, " {:<24}", format!("chance of {}", first[place].tile));
    }
    text.truncate(text.trim_end().len());
    for (direction, chances, rest) in &found {
        let _ = write!(text, "\n{:<9} {:<32}", direction.name(), rest_text(rest));
        for &place in &shown {
            let _ = write!(text, " {:<24}", chance_text(&chances[place]));
        }
        text.truncate(text.trim_end().len());
    }
    text + "\n"
}

fn rest_text(rest: &RolloutScore) -> String {
    let mean = grouped(rest.mean);
    match rest.mean_ci95 {
        Some([low, high]) => format!("{mean} ({} to {})", grouped(low), grouped(high)),
        None => mean,
    }
}

fn chance_text(chance: &TileChance) -> String {
    let [p, low, high] = [chance.p, chance.ci95[0], chance.ci95[1]].map(percent);
    let [p, low, high] = [&p, &low, &high].map(|text| text.trim());
    format!("{p} ({low} to {high})")
}
