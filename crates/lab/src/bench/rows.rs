//! The rows of a benchmark: networks by name, and searches over the first one.

use super::{BenchOptions, Mode};
use crate::LabError;
use crate::search::SearchSpec;

/// A network that can be measured, and the rows it gives.
pub(super) struct BenchNetwork {
    /// The built-in recipe that trains it.
    pub(super) recipe: &'static str,
    /// Its tuples, where they are not the recipe's own.
    pub(super) tuples: Option<&'static str>,
    /// Whether it is measured by default.
    main: bool,
    pub(super) rows: &'static [(&'static str, Mode)],
}

impl BenchNetwork {
    /// The name of the network: the first word of its rows.
    fn network(&self) -> &'static str {
        let first = self.rows.first().map(|(name, _)| *name);
        first
            .and_then(|name| name.split(' ').next())
            .unwrap_or(self.recipe)
    }
}

pub(super) static SUBJECTS: [BenchNetwork; 7] = [
    BenchNetwork {
        recipe: "td-4x6",
        tuples: None,
        main: true,
        rows: &[("4x6 play", Mode::Play), ("4x6 td", Mode::Train)],
    },
    BenchNetwork {
        recipe: "quick",
        tuples: None,
        main: true,
        rows: &[("4x6 tc", Mode::Train)],
    },
    td("8x6", &[("8x6 td", Mode::Train)], true),
    BenchNetwork {
        recipe: "state-6",
        tuples: None,
        main: true,
        rows: &[("state-6", Mode::Train)],
    },
    td("5x6", &[("5x6 td", Mode::Train)], false),
    td("6x6", &[("6x6 td", Mode::Train)], false),
    td("8x4", &[("8x4 td", Mode::Train)], false),
];

/// Plain TD(0) with other tuples.
const fn td(
    tuples: &'static str,
    rows: &'static [(&'static str, Mode)],
    main: bool,
) -> BenchNetwork {
    BenchNetwork {
        recipe: "td-4x6",
        tuples: Some(tuples),
        main,
        rows,
    }
}

/// What is measured of a network.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) mode: Mode,
    pub(super) search: Option<SearchSpec>,
}

impl Row {
    fn of(&(name, mode): &(&str, Mode)) -> Self {
        Self {
            name: name.to_owned(),
            mode,
            search: None,
        }
    }

    fn of_search(network: &str, search: &SearchSpec) -> Self {
        Self {
            name: format!("{network} {}", search.limit),
            mode: Mode::Search,
            search: Some(search.clone()),
        }
    }
}

/// The networks to measure, each with its selected rows.
pub(super) fn chosen(
    options: &BenchOptions<'_>,
) -> Result<Vec<(&'static BenchNetwork, Vec<Row>)>, LabError> {
    if options.searches.is_empty() {
        return by_name(options.networks);
    }
    // Searches are measured with the first network.
    let searched = &SUBJECTS[0];
    let rows = options.searches.iter();
    let rows = rows.map(|search| Row::of_search(searched.network(), search));
    Ok(vec![(searched, rows.collect())])
}

/// The networks with rows of these names; without names, the main ones.
pub(super) fn by_name(
    names: &[String],
) -> Result<Vec<(&'static BenchNetwork, Vec<Row>)>, LabError> {
    let all = || SUBJECTS.iter().flat_map(|subject| subject.rows);
    let fits = |name: &str, asked: &str| name == asked || name.split(' ').next() == Some(asked);
    for asked in names {
        if !all().any(|(name, _)| fits(name, asked)) {
            return Err(LabError::UnknownNetwork {
                found: asked.clone(),
                known: all().map(|&(name, _)| name).collect(),
            });
        }
    }
    let wanted = |subject: &'static BenchNetwork| {
        let rows = subject.rows.iter().filter(|(name, _)| {
            let asked = names.iter().any(|asked| fits(name, asked));
            asked || (names.is_empty() && subject.main)
        });
        (subject, rows.map(Row::of).collect::<Vec<Row>>())
    };
    let chosen = SUBJECTS.iter().map(wanted);
    Ok(chosen.filter(|(_, rows)| !rows.is_empty()).collect())
}
