//! `afterstate convert`: converts weight files between programs.

use std::fmt::Write;

use afterstate_lab::LabError;
use afterstate_lab::convert::{
    ConvertError, ConvertOptions, ConvertReport, Kind, Program, convert,
};

use super::shown;
use crate::args::{ConvertArgs, WeightFormatArg};
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
        stages: args.stages.as_deref(),
        game: args.game.as_deref(),
        symmetry: !args.no_symmetry,
        base: args.base,
        weights_only: args.weights_only,
        force: args.force,
        control: &display.control(),
    });
    display.finish();
    match report {
        Ok(report) => {
            interrupt::completed();
            match args.json {
                true => print_json(&report),
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

fn kind(kind: WeightFormatArg) -> Kind {
    match kind {
        WeightFormatArg::Native => Kind::Native,
        WeightFormatArg::Tdl => Kind::Of(Program::Tdl),
        WeightFormatArg::Demo => Kind::Of(Program::Demo),
        WeightFormatArg::Framework => Kind::Of(Program::Framework),
    }
}

fn summary(args: &ConvertArgs, report: &ConvertReport) -> String {
    let tables = match report.tables {
        1 => "1 table".to_owned(),
        tables => format!("{tables} tables"),
    };
    let mut text = format!(
        "{}: a file of {}\n{}: {tables} with {} weights{}, {} bytes, for {}\n",
        shown(&args.from),
        report.from.format,
        shown(&args.to),
        grouped(report.weights as f64),
        if report.sums {
            " and the sums of TC"
        } else {
            ""
        },
        grouped(report.bytes as f64),
        report.to.format,
    );
    // Writing to a string cannot fail.
    if !report.left_out.is_empty() {
        let left = report.left_out.join(" and ");
        let _ = writeln!(
            text,
            "this format cannot store {left}, so that was left out"
        );
    }
    if let (Some(reason), Kind::Native) = (&report.unplayable, report.to.format) {
        let _ = writeln!(
            text,
            "it can be converted back, but not used as a model: {reason}"
        );
    }
    text
}
