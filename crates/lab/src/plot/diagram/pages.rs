//! The worked numbers of docs/how-it-works as Markdown tables. In a page they stand between
//! `<!-- numbers: NAME -->` and `<!-- end -->`.

use afterstate::game::{After, Direction, Game, PowersOfTwo, Rules, Shape, State};

use super::text::{board_line, bytes, cell_name, places, plain, powers};
use super::worked::{self, Digit, Dqn, Example, Flaw, Lookup, PassRow};
use crate::numbers::grouped;
use crate::plot::PlotError;

/// Before the name of a block in a page.
const START: &str = "<!-- numbers: ";
/// After its content.
const END: &str = "<!-- end -->";

/// A Markdown table.
fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let heads: Vec<String> = heads.iter().map(|&head| head.to_owned()).collect();
    let mut text = line(&heads);
    text.push_str(&format!("|{}\n", "---|".repeat(heads.len())));
    rows.into_iter().for_each(|row| text.push_str(&line(&row)));
    text
}

/// The tables of all worked numbers, by name.
///
/// # Errors
/// When the system refuses the memory of a network.
pub fn number_blocks() -> Result<Vec<(&'static str, String)>, PlotError> {
    let example = worked::example();
    let lookups = worked::lookups()?;
    Ok(vec![
        ("lookup", lookup(&lookups.lookups[0])),
        ("symmetries", symmetries(&lookups)),
        ("update", update()?),
        ("table-sizes", table_sizes()),
        ("episode", episode(&example)?),
        ("td-monte-carlo", td_monte_carlo(&example)?),
        ("backups", backups()?),
        ("choose-by-afterstate", choose_by_afterstate()?),
        ("choose-by-state", choose_by_state()?),
        ("n-step-returns", n_step_returns(&example)?),
        ("td-lambda", passes(&[("", &example.td_lambda()?)])),
        ("coherence", coherence()?),
        ("reward-twice", flaws(&example, &example.reward_twice()?)?),
        ("odd-end", flaws(&example, &example.odd_end()?)?),
        ("dqn-settings", dqn_settings(&worked::dqn())),
        ("dqn-target", dqn_target(&worked::dqn())),
    ])
}

/// The page with the content of each of its blocks replaced.
///
/// # Errors
/// The name of a block that does not exist, or that has no end.
pub fn fill_page(page: &str, blocks: &[(&'static str, String)]) -> Result<String, String> {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(START) {
        let (name, after) = after.split_once(" -->").ok_or("a marker has no end")?;
        let (_, after) = after.split_once(END).ok_or_else(|| name.to_owned())?;
        let block = blocks.iter().find(|(known, _)| *known == name);
        let (_, block) = block.ok_or_else(|| name.to_owned())?;
        out.push_str(&format!("{before}{START}{name} -->\n{block}{END}"));
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn tile_name(tile: u8) -> String {
    match tile {
        0 => "empty".to_owned(),
        tile => PowersOfTwo.tile_value(tile).to_string(),
    }
}

fn lookup(lookup: &Lookup) -> String {
    let row = |(n, digit): (usize, &Digit)| {
        vec![
            cell_name(digit.cell),
            tile_name(digit.tile),
            digit.tile.to_string(),
            format!("16^{n} = {}", grouped(digit.power as f64)),
            grouped(digit.product() as f64),
        ]
    };
    let mut rows: Vec<_> = lookup.digits.iter().enumerate().map(row).collect();
    let blank = String::new;
    let index = format!("**{}**", grouped(lookup.index as f64));
    rows.push(vec!["**index**".into(), blank(), blank(), blank(), index]);
    table(&["cell", "tile", "digit", "place", "digit x place"], rows)
}

fn symmetries(example: &worked::Lookups) -> String {
    let row = |(n, lookup): (usize, &Lookup)| {
        let cells: String = lookup
            .digits
            .iter()
            .map(|digit| cell_name(digit.cell))
            .collect();
        vec![
            (n + 1).to_string(),
            format!("`{cells}`"),
            grouped(lookup.index as f64),
            plain(lookup.weight),
        ]
    };
    let mut rows: Vec<_> = example.lookups.iter().enumerate().map(row).collect();
    let value = format!("**{}**", plain(example.value));
    rows.push(vec!["**V**".into(), String::new(), String::new(), value]);
    table(
        &["symmetry", "cells read, in order", "index", "weight"],
        rows,
    )
}

fn update() -> Result<String, PlotError> {
    let update = worked::lookup_update()?;
    let rows = [
        ("V before", plain(update.row.value)),
        ("target", plain(update.row.target)),
        ("error: target - V", plain(update.row.delta)),
        (
            "learning rate α",
            places(f64::from(update.learning_rate), 4),
        ),
        ("lookups m", update.lookups.to_string()),
        ("each weight changes by α/m x error", plain(update.step)),
        ("V after", plain(update.row.after)),
    ];
    let rows = rows.map(|(name, number)| vec![name.to_owned(), number]);
    Ok(table(&["", ""], rows))
}

fn table_sizes() -> String {
    let row = |size: worked::TableSize| {
        let weights = powers(size.tables, size.cells, size.weights);
        let weights = weights.replace(['{', '}'], "").replace('×', "x");
        vec![size.label.clone(), weights, bytes(size.bytes())]
    };
    table(
        &["tables", "weights", "memory"],
        worked::table_sizes().into_iter().map(row),
    )
}

fn episode(example: &Example) -> Result<String, PlotError> {
    let shape = example.game.shape();
    let values = example.values(&example.network()?);
    let row = |(t, step): (usize, &worked::Move)| {
        let (State(state), After(after)) = (step.state, step.after);
        vec![
            t.to_string(),
            format!("`{}`", board_line(state, shape)),
            plain(values[t]),
            step.direction.name().to_owned(),
            step.reward.to_string(),
            format!("`{}`", board_line(after, shape)),
        ]
    };
    let mut rows: Vec<_> = example.moves.iter().enumerate().map(row).collect();
    let State(end) = example.end;
    let mut last = vec![
        example.moves.len().to_string(),
        format!("`{}`", board_line(end, shape)),
    ];
    last.extend(["end", "", "", ""].map(str::to_owned));
    rows.push(last);
    Ok(table(
        &[
            "t",
            "state S_t",
            "V(S_t)",
            "slide A_t",
            "reward R_{t+1}",
            "afterstate Y_t",
        ],
        rows,
    ))
}

fn td_monte_carlo(example: &Example) -> Result<String, PlotError> {
    let rewards = example.rewards();
    let rows = example.td()?.into_iter().zip(example.monte_carlo()?);
    let row = |(t, (td, monte_carlo)): (usize, (worked::Row, worked::Row))| {
        let next = td.target - rewards[t];
        let earned: Vec<String> = rewards[t..].iter().map(|&reward| plain(reward)).collect();
        vec![
            format!("S_{t}"),
            plain(td.value),
            format!(
                "{} + {} = {}",
                plain(rewards[t]),
                plain(next),
                plain(td.target)
            ),
            plain(td.after),
            match earned.len() {
                1 => plain(monte_carlo.target),
                _ => format!("{} = {}", earned.join(" + "), plain(monte_carlo.target)),
            },
            plain(monte_carlo.after),
        ]
    };
    Ok(table(
        &[
            "",
            "V before",
            "TD(0) target",
            "V after TD(0)",
            "Monte Carlo target",
            "V after Monte Carlo",
        ],
        rows.enumerate().map(row),
    ))
}

fn backups() -> Result<String, PlotError> {
    let backups = worked::backups()?;
    let (_, reward, next, _) = backups.slides[backups.chosen];
    let first = worked::example().moves[0];
    let of = |name: &str, reward: u32, next: f32, row: worked::Row| {
        vec![
            name.to_owned(),
            plain(row.value),
            format!("{reward} + {} = {}", plain(next), plain(row.target)),
            plain(row.delta),
            plain(row.after),
        ]
    };
    let state = backups.state;
    let rows = [
        of(
            "V(Y_0) towards R_2 + V(Y_1)",
            reward,
            next,
            backups.afterstate,
        ),
        of(
            "V(S_0) towards R_1 + V(S_1)",
            first.reward,
            state.target - first.reward as f32,
            state,
        ),
    ];
    Ok(table(&["", "V before", "target", "error", "V after"], rows))
}

fn choose_by_afterstate() -> Result<String, PlotError> {
    let example = worked::choices()?;
    let row = |(n, choice): (usize, &worked::Choice)| {
        let After(after) = choice.after;
        let chosen = if n == example.best[0] { "chosen" } else { "" };
        vec![
            choice.direction.name().to_owned(),
            choice.reward.to_string(),
            format!("`{}`", board_line(after, example.shape)),
            plain(choice.value),
            plain(choice.total),
            chosen.to_owned(),
        ]
    };
    Ok(table(
        &["slide", "r", "afterstate y", "V(y)", "r + V(y)", ""],
        example.choices.iter().enumerate().map(row),
    ))
}

fn choose_by_state() -> Result<String, PlotError> {
    let example = worked::choices()?;
    let row = |(n, choice): (usize, &worked::Choice)| {
        let part = |&(_, chance, value): &(_, f64, f32)| {
            format!("{} x {}", places(chance, 3), plain(value))
        };
        let parts: Vec<String> = choice.successors.iter().map(part).collect();
        let chosen = if n == example.best[1] { "chosen" } else { "" };
        vec![
            choice.direction.name().to_owned(),
            choice.reward.to_string(),
            parts.join(" + "),
            plain(choice.mean),
            plain(choice.mean_total),
            chosen.to_owned(),
        ]
    };
    Ok(table(
        &[
            "slide",
            "r",
            "p x V of each successor",
            "mean",
            "r + mean",
            "",
        ],
        example.choices.iter().enumerate().map(row),
    ))
}

fn n_step_returns(example: &Example) -> Result<String, PlotError> {
    let returns = example.n_step_returns()?;
    let mut mean = 0.0;
    let mut rows = Vec::new();
    for (n, &(result, weight)) in returns.iter().enumerate() {
        mean += weight * result;
        let last = n + 1 == returns.len();
        let name = if last {
            "G_0, the return".into()
        } else {
            format!("G_{{0:{}}}", n + 1)
        };
        rows.push(vec![
            name,
            plain(result),
            places(f64::from(weight), 3),
            plain(weight * result),
        ]);
    }
    let total: f32 = returns.iter().map(|(_, weight)| weight).sum();
    let sum = vec![
        "**λ-return**".into(),
        String::new(),
        plain(total),
        format!("**{}**", plain(mean)),
    ];
    rows.push(sum);
    Ok(table(
        &["return of S_0", "value", "weight", "product"],
        rows,
    ))
}

/// Backward passes in the order of updates, each with its name before its columns.
fn passes(all: &[(&str, &[PassRow])]) -> String {
    let mut heads = vec!["".to_owned(), "reward".to_owned(), "V before".to_owned()];
    for (name, _) in all {
        let name = if name.is_empty() {
            String::new()
        } else {
            format!("{name}: ")
        };
        heads.extend(["z", "target", "V after"].map(|head| format!("{name}{head}")));
    }
    let steps = all[0].1.len();
    let row = |t: usize| {
        let first = &all[0].1[t];
        let mut cells = vec![
            format!("S_{t}"),
            plain(first.reward),
            plain(first.row.value),
        ];
        for (_, pass) in all {
            let PassRow { z, row, .. } = pass[t];
            let learned = row.target == pass[t].reward + z;
            let shown = |number| {
                if learned {
                    plain(number)
                } else {
                    "none".to_owned()
                }
            };
            cells.extend([shown(z), shown(row.target), plain(row.after)]);
        }
        cells
    };
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table(&heads, (0..steps).rev().map(row))
}

/// A flaw beside the textbook: one pass, and the values of the repeated game.
fn flaws(example: &Example, flaw: &Flaw) -> Result<String, PlotError> {
    let textbook = example.textbook()?;
    let first = passes(&[("textbook", &textbook.first), ("published", &flaw.first)]);
    let returns = example.returns();
    let row = |t: usize| {
        vec![
            format!("S_{t}"),
            plain(returns[t]),
            plain(textbook.limit[t]),
            plain(flaw.limit[t]),
        ]
    };
    let repeated = table(
        &[
            "the same game, repeated",
            "return G",
            "textbook V",
            "published V",
        ],
        (0..returns.len()).map(row),
    );
    Ok(format!("{first}\n{repeated}"))
}

fn coherence() -> Result<String, PlotError> {
    let row = |(n, row): (usize, worked::CoherenceRow)| {
        let numbers = [
            row.target,
            row.delta,
            row.ratio,
            row.step,
            row.weight,
            row.error_sum,
            row.absolute_sum,
            row.td,
        ];
        let mut cells = vec![(n + 1).to_string()];
        cells.extend(numbers.map(plain));
        cells
    };
    Ok(table(
        &[
            "",
            "target",
            "error δ",
            "\\|E\\|/A",
            "step",
            "weight",
            "E after",
            "A after",
            "weight by TD",
        ],
        worked::coherence()?
            .into_iter()
            .take(worked::COHERENCE_ROWS)
            .enumerate()
            .map(row),
    ))
}

fn dqn_settings(dqn: &Dqn) -> String {
    let rows = [
        ("games side by side", grouped(dqn.num_envs as f64)),
        ("transitions in the buffer", grouped(dqn.buffer_size as f64)),
        (
            "iterations until it is full",
            grouped(dqn.iterations_to_fill() as f64),
        ),
        ("batches an iteration", grouped(dqn.updates_per_step as f64)),
        ("transitions in a batch", grouped(dqn.batch_size as f64)),
        (
            "draws of a transition on average, while it is in a full buffer",
            places(dqn.draws(), 2),
        ),
        (
            "iterations between copies to the target network",
            dqn.copy_iterations.to_string(),
        ),
        ("share of random moves ε", places(dqn.epsilon, 4)),
        ("discount γ", places(dqn.discount, 4)),
        ("points divided by", places(dqn.reward_scale, 0)),
    ];
    table(
        &["", ""],
        rows.map(|(name, number)| vec![name.to_owned(), number]),
    )
}

fn dqn_target(dqn: &Dqn) -> String {
    let slide = |a: usize| Direction::ALL[a].name();
    let (by_target, by_online) = (Dqn::argmax(dqn.target), Dqn::argmax(dqn.online));
    let tiles = dqn.state.to_grid();
    let outputs = |all: [f64; 4]| {
        let one = |(a, value): (usize, f64)| format!("{} {}", slide(a), places(value, 3));
        all.into_iter()
            .enumerate()
            .map(one)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let target = |a: usize, y: f64| {
        format!(
            "{} + {} x {} = {}",
            places(dqn.reward(), 4),
            places(dqn.discount, 4),
            places(dqn.target[a], 4),
            places(y, 4)
        )
    };
    let (plain, double) = (dqn.plain_target(), dqn.double_target());
    let rows = [
        ("state s", format!("`{}`", board_line(tiles, Shape::FOUR))),
        ("slide a", dqn.direction.name().to_owned()),
        ("points", dqn.points.to_string()),
        (
            "reward r",
            format!(
                "{} / {} = {}",
                dqn.points,
                places(dqn.reward_scale, 0),
                places(dqn.reward(), 4)
            ),
        ),
        ("Q(s, a)", places(dqn.value, 4)),
        ("Q(s', a') of the online network", outputs(dqn.online)),
        ("Q'(s', a') of the target network", outputs(dqn.target)),
        (
            "target of DQN",
            format!("{}: {}", slide(by_target), target(by_target, plain)),
        ),
        ("error", places(plain - dqn.value, 4)),
        (
            "target of double DQN",
            format!("{}: {}", slide(by_online), target(by_online, double)),
        ),
        ("error of double DQN", places(double - dqn.value, 4)),
    ];
    table(
        &["", ""],
        rows.map(|(name, text)| vec![name.to_owned(), text]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_replaced_and_unknown_names_refused() {
        let blocks = [("a", "| 1 |\n".to_owned())];
        let page = "text\n<!-- numbers: a -->\nold\n<!-- end -->\nmore\n";
        let filled = fill_page(page, &blocks).unwrap();
        assert_eq!(
            filled,
            "text\n<!-- numbers: a -->\n| 1 |\n<!-- end -->\nmore\n"
        );
        assert_eq!(fill_page(&filled, &blocks).unwrap(), filled);
        let unknown = page.replace(": a", ": b");
        assert_eq!(fill_page(&unknown, &blocks), Err("b".to_owned()));
        assert!(fill_page("<!-- numbers: a -->", &blocks).is_err());
    }
}
