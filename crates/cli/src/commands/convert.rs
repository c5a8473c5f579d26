//! `afterstate convert`: converts weight files between programs.

use std::fmt::Write;
use std::path::Path;

use afterstate_lab::LabError;
use afterstate_lab::convert::{
    ConvertError, ConvertOptions, ConvertReport, Kind, Program, convert,
};
use serde::Serialize;

use super::shown;
use crate::args::{ConvertArgs, KindArg};
use crate::interrupt;
use crate::output::{grouped, note, print, print_json};
use crate::progress::Display;

pub fn run(args: &ConvertArgs) -> anyhow::Result<()> {
    interrupt::listen()?;
    let display = Display::new();
    let report = convert(&ConvertOptions {
        from: &args.from,
        to: &args.to,
        kind: args.kind.map(kind),
        patterns: args.patterns.as_deref(),
        game: args.game.as_deref(),
        symmetry: !args.no_symmetry,
        weights_only: args.weights_only,
        force: args.force,
        control: &display.control(),
    });
    display.finish();
    match report {
        Ok(report) => {
            interrupt::completed();
            match args.json {
                true => print_json(&document(args, &report)),
                false => print(summary(args, &report)),
            }
        }
        Err(LabError::Convert(ConvertError::Stopped)) => {
            note("stopped by Ctrl-C: no file was written");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// A conversion; the JSON of `convert --json`.
#[derive(Serialize)]
struct Document<'a> {
    from: FileDocument<'a>,
    to: FileDocument<'a>,
    tables: usize,
    weights: u64,
    /// Whether the sums of TC were converted, too.
    sums: bool,
    bytes: u64,
    /// What the output format cannot store.
    left_out: &'a [&'static str],
    /// Why the output cannot be used as a model.
    unplayable: Option<String>,
}

#[derive(Serialize)]
struct FileDocument<'a> {
    path: &'a Path,
    /// `native`, or the program, as `--to` names it.
    format: &'static str,
}

fn document<'a>(args: &'a ConvertArgs, report: &'a ConvertReport) -> Document<'a> {
    let file = |path, kind| FileDocument {
        path,
        format: format_name(kind),
    };
    Document {
        from: file(&args.from, report.from),
        to: file(&args.to, report.to),
        tables: report.tables,
        weights: report.weights,
        sums: report.sums,
        bytes: report.bytes,
        left_out: &report.left,
        unplayable: report.unplayable.as_ref().map(ToString::to_string),
    }
}

fn format_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Native => "native",
        Kind::Of(Program::Tdl) => "tdl",
        Kind::Of(Program::Demo) => "demo",
        Kind::Of(Program::Framework) => "framework",
    }
}

fn kind(kind: KindArg) -> Kind {
    match kind {
        KindArg::Native => Kind::Native,
        KindArg::Tdl => Kind::Of(Program::Tdl),
        KindArg::Demo => Kind::Of(Program::Demo),
        KindArg::Framework => Kind::Of(Program::Framework),
    }
}

fn summary(args: &ConvertArgs, report: &ConvertReport) -> String {
    let tables = match report.tables {
        1 => "1 table".to_owned(),
        tables => format!("{tables} tables"),
    };
    let mut text = format!(
        "{}: {tables} with {} weights{}, of {}\n{}: {} bytes, for {}\n",
        shown(&args.from),
        grouped(report.weights as f64),
        if report.sums {
            " and the sums of TC"
        } else {
            ""
        },
        report.from,
        shown(&args.to),
        grouped(report.bytes as f64),
        report.to,
    );
    // Writing to a string cannot fail.
    if !report.left.is_empty() {
        let left = report.left.join(" and ");
        let _ = writeln!(
            text,
            "this format cannot store {left}, so that was left out"
        );
    }
    if let (Some(reason), Kind::Native) = (&report.unplayable, report.to) {
        let _ = writeln!(
            text,
            "it can be converted back, but not used as a model: {reason}"
        );
    }
    text
}
