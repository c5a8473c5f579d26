//! Results as a table for a report: Markdown or LaTeX, with everything that is needed to repeat
//! them: games, seed, model and command line.
//!
//! Names of models are text from outside. In Markdown they stand in code spans, in LaTeX every
//! character with a meaning is escaped.

use std::ffi::OsString;
use std::path::Path;

use afterstate_lab::compare::Comparison;
use afterstate_lab::numbers::signed;
use afterstate_lab::report::{Evaluation, Scores};

use super::compare::sequential_verdict;
use super::shown;
use crate::args::FormatArg;
use crate::output::{count, grouped, percent};

/// A table with a caption below it.
pub struct Document {
    /// The names of the columns after the first.
    columns: Vec<String>,
    /// The first cell of a row is its name.
    rows: Vec<Vec<String>>,
    /// Sentences about how the results came about.
    notes: Vec<Note>,
}

/// A sentence: its words, then code.
struct Note {
    words: String,
    code: String,
}

/// A document of an evaluation; `who` describes the player.
pub fn of_evaluation(evaluation: &Evaluation, name: &Path, who: &str) -> Document {
    let mut rows = first_rows(&[&evaluation.scores]);
    for row in &evaluation.scores.tiles {
        let reach = with_interval(percent(row.reach), Some(row.reach_ci95.map(percent)));
        rows.push(vec![reached(row.tile), reach]);
    }
    Document {
        columns: vec![shown(name)],
        rows,
        notes: notes(evaluation, vec![note("Player", who)]),
    }
}

/// A document of a comparison; `words` describe the players.
pub fn of_comparison(comparison: &Comparison, words: [&str; 2]) -> Document {
    let c = comparison;
    let mut rows = first_rows(&[&c.a.scores, &c.b.scores]);
    let points = |number: f64, interval: Option<[f64; 2]>| {
        let shown = |number: f64| signed(number, 0);
        with_interval(shown(number), interval.map(|ends| ends.map(shown)))
    };
    rows[0].push(points(c.difference, c.difference_ci95));
    rows[1].push(points(c.median_difference, c.median_difference_ci95));
    rows[2..].iter_mut().for_each(|row| row.push(String::new()));
    for tile in &c.tiles {
        let rate = |scores: &Scores| {
            let row = scores.tiles.iter().find(|row| row.tile >= tile.tile);
            percent(row.map_or(0.0, |row| row.reach))
        };
        let ends = tile.reach_difference_ci95.map(percent_points);
        let difference = with_interval(percent_points(tile.reach_difference), Some(ends));
        let [a, b] = [rate(&c.a.scores), rate(&c.b.scores)];
        rows.push(vec![reached(tile.tile), a, b, difference]);
    }
    let [a, b] = words;
    let method = match &c.sequential {
        None => {
            "Differences are over games paired by seed, with 95% intervals: means by Student's t, \
                 medians by a bootstrap, win rates by Newcombe's method for paired proportions."
                .to_owned()
        }
        Some(test) => sequential_verdict(c, test),
    };
    let mut notes = notes(&c.a, vec![note("A", a), note("B", b)]);
    notes.insert(1, Note::words(&method));
    Document {
        columns: ["A", "B", "A - B"].map(str::to_owned).into(),
        rows,
        notes,
    }
}

/// A difference of two proportions in percentage points.
pub fn percent_points(difference: f64) -> String {
    signed(100.0 * difference, 1) + "%"
}

fn reached(tile: u64) -> String {
    format!("reached {tile}")
}

/// The rows that do not depend on tiles, with a column for each player.
fn first_rows(players: &[&Scores]) -> Vec<Vec<String>> {
    let row = |name: &str, of: &dyn Fn(&Scores) -> String| {
        let cells = players.iter().map(|scores| of(scores));
        [name.to_owned()].into_iter().chain(cells).collect()
    };
    vec![
        row("mean score", &|scores| {
            let ends = scores.mean_ci95.map(|ends| ends.map(grouped));
            with_interval(grouped(scores.mean), ends)
        }),
        row("median score", &|scores| grouped(scores.median)),
        row("highest score", &|scores| grouped(scores.max as f64)),
        row("moves per game", &|scores| grouped(scores.moves)),
    ]
}

fn with_interval(value: String, ends: Option<[String; 2]>) -> String {
    match ends {
        Some([low, high]) => format!("{value} ({low} to {high})"),
        None => value,
    }
}

fn note(words: &str, code: &str) -> Note {
    Note {
        words: format!("{words}:"),
        code: code.to_owned(),
    }
}

impl Note {
    fn words(words: &str) -> Self {
        Self {
            words: words.to_owned(),
            code: String::new(),
        }
    }
}

/// How the results came about: the games, the players, the command line.
fn notes(evaluation: &Evaluation, players: Vec<Note>) -> Vec<Note> {
    let e = evaluation;
    let games = count(e.scores.games, "game");
    let (game, board, seed, search) = (&e.game, &e.board, e.seed, &e.search);
    let about =
        format!("{game} on {board}, {games}, seed {seed}, {search}; 95% intervals in brackets.");
    let command = note("Command", &command_line(std::env::args_os()));
    [Note::words(&about)]
        .into_iter()
        .chain(players)
        .chain([command])
        .collect()
}

/// The command line as it can be typed again.
fn command_line(words: impl Iterator<Item = OsString>) -> String {
    let words = words.skip(1).map(|word| shown(Path::new(&word)));
    let words: Vec<String> = ["afterstate".to_owned()].into_iter().chain(words).collect();
    words.join(" ")
}

impl Document {
    /// The text in a format for reports.
    pub fn text(&self, format: FormatArg) -> String {
        match format {
            FormatArg::Latex => self.latex(),
            FormatArg::Markdown | FormatArg::Text => self.markdown(),
        }
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let names = self.columns.iter().map(|name| code_cell(name));
        let header: Vec<String> = [String::new()].into_iter().chain(names).collect();
        let rule = "|---".to_owned() + &"|---:".repeat(self.columns.len()) + "|\n";
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        let notes = self.notes.iter().map(|note| match note.code.is_empty() {
            true => format!("- {}\n", note.words),
            false => format!("- {} {}\n", note.words, code_span(&note.code)),
        });
        let notes: String = notes.collect();
        format!("{}{rule}{rows}\n{notes}", line(&header))
    }

    fn latex(&self) -> String {
        let line = |cells: Vec<String>| format!("    {} \\\\\n", cells.join(" & "));
        let names = self.columns.iter().map(|name| texttt(name));
        let header = [String::new()].into_iter().chain(names).collect();
        let row = |row: &Vec<String>| line(row.iter().map(|cell| escaped(cell)).collect());
        let rows: String = self.rows.iter().map(row).collect();
        let notes = self.notes.iter().map(|note| match note.code.is_empty() {
            true => escaped(&note.words),
            false => format!("{} {}.", escaped(&note.words), texttt(&note.code)),
        });
        let notes: Vec<String> = notes.collect();
        format!(
            "\\begin{{table}}\n  \\centering\n  \\begin{{tabular}}{{l{}}}\n    \\hline\n{}    \
             \\hline\n{rows}    \\hline\n  \\end{{tabular}}\n  \\caption{{{}}}\n\\end{{table}}\n",
            "r".repeat(self.columns.len()),
            line(header),
            notes.join("\n    ")
        )
    }
}

/// Text without control characters, on one line.
fn printable(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{FFFD}' } else { c };
    text.chars().map(shown).collect()
}

/// A code span of Markdown: with more backticks around it than there are together in it.
fn code_span(text: &str) -> String {
    let text = printable(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Blanks keep a backtick at an end apart; Markdown removes one on either side.
    let blank = if longest > 0 || text.starts_with(' ') {
        " "
    } else {
        ""
    };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// The same in a cell, which a bar would end.
fn code_cell(text: &str) -> String {
    code_span(text).replace('|', "\\|")
}

/// Typewriter text of LaTeX.
fn texttt(text: &str) -> String {
    format!("\\texttt{{{}}}", escaped(text))
}

/// Text in which no character has a meaning to LaTeX.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in printable(text).chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '{' | '}' | '$' | '&' | '#' | '_' | '%' => out.extend(['\\', c]),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '"' => out.push_str("\\char34{}"),
            '`' => out.push_str("\\char96{}"),
            // Two of them would become a dash or a quotation mark.
            '-' | '\'' if before == c => out.extend(['{', '}', c]),
            c => out.push(c),
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latex_is_escaped() {
        let hostile = r"a_b&c%d$e#f{g}h~i^j\k<l>m|n--o`p'q";
        let expected = r"a\_b\&c\%d\$e\#f\{g\}h\textasciitilde{}i\textasciicircum{}j\textbackslash{}k\textless{}l\textgreater{}m\textbar{}n-{}-o\char96{}p'q";
        assert_eq!(escaped(hostile), expected);
        assert_eq!(escaped("\\end{table}"), "\\textbackslash{}end\\{table\\}");
        assert_eq!(escaped("a\nb\u{1b}[31m"), "a\u{FFFD}b\u{FFFD}[31m");
        assert_eq!(escaped("---"), "-{}-{}-");
        assert_eq!(escaped("say \"x\""), "say \\char34{}x\\char34{}");
    }

    #[test]
    fn markdown_is_escaped() {
        assert_eq!(code_span("<b>*x*</b>"), "`<b>*x*</b>`");
        assert_eq!(code_span("a`b``c"), "``` a`b``c ```");
        assert_eq!(code_span("`"), "`` ` ``");
        assert_eq!(code_cell("a|b"), "`a\\|b`");
        assert_eq!(code_span("a\n| b"), "`a\u{FFFD}| b`");
    }

    #[test]
    fn a_document_has_a_cell_for_every_column() {
        let document = Document {
            columns: vec!["run_1|x".to_owned()],
            rows: vec![vec!["mean score".to_owned(), "12 (10 to 14)".to_owned()]],
            notes: vec![
                Note::words("5 games."),
                note("Command", "afterstate eval 'a b'"),
            ],
        };
        let markdown = "|  | `run_1\\|x` |\n|---|---:|\n| mean score | 12 (10 to 14) |\n\n\
                        - 5 games.\n- Command: `afterstate eval 'a b'`\n";
        assert_eq!(document.text(FormatArg::Markdown), markdown);
        let latex = document.text(FormatArg::Latex);
        for part in [
            "\\begin{tabular}{lr}",
            "     & \\texttt{run\\_1\\textbar{}x} \\\\\n",
            "    mean score & 12 (10 to 14) \\\\\n",
            "\\caption{5 games.\n    Command: \\texttt{afterstate eval 'a b'}.}",
        ] {
            assert!(latex.contains(part), "no {part} in {latex}");
        }
    }
}
