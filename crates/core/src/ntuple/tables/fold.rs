//! The weights of a model: those of its tuples, to which the redundant ones inside them are added.
//!
//! With weight promotion a weight of a later stage stays without a value of its own if no weight
//! that is added up has one there; otherwise each is what a lookup in this stage reads.

use super::{WeightCell, WeightPart, WeightTables};
use crate::Value;
use crate::ntuple::fold::Fold;

impl<C: WeightCell> WeightTables<C> {
    /// As [`WeightTables::export`] of the weights of a model.
    pub(crate) fn export_kept(&self, table: usize, from: usize, out: &mut [Value]) {
        if self.folded_into(table).next().is_none() {
            return self.export(table, WeightPart::Weight, from, out);
        }
        let layout = &self.plan.tables()[table];
        layout.each_at(from, out.len(), |k, at| {
            out[k] = self.folded(table, from + k, at);
        });
    }

    /// As [`WeightTables::export_chunk`] of the weights of a model.
    pub(crate) fn export_kept_chunk(
        &self,
        (table, chunk): (usize, usize),
        out: &mut [Value],
        stride: usize,
    ) {
        if self.folded_into(table).next().is_none() {
            return self.export_chunk((table, chunk), out, stride);
        }
        let layout = &self.plan.tables()[table];
        let starts: Vec<usize> = layout.chunking().runs(chunk).collect();
        layout.each_in_chunk(chunk, |run, k, at| {
            out[run * stride + k] = self.folded(table, starts[run] + k, at);
        });
    }

    /// The redundant tuples inside the tuple of a table.
    fn folded_into(&self, table: usize) -> impl Iterator<Item = &Fold> {
        let tuple = table % self.tuples.patterns().len();
        self.folds.iter().filter(move |fold| fold.into == tuple)
    }

    /// The weight at a place, which is `file` in the order of a file, with those that are added.
    fn folded(&self, table: usize, file: usize, at: usize) -> Value {
        let tuples = self.tuples.patterns().len();
        let bank = table - table % tuples;
        let small = |fold: &Fold| self.plan.tables()[bank + fold.small].at(fold.index(file));
        let places = || std::iter::once(at).chain(self.folded_into(table).map(small));
        let weight = |at: usize| self.cells[at].weight().get();
        let Some(stage) = self.plan.promotion().filter(|&stage| at >= stage) else {
            return places().map(weight).sum();
        };
        if places().all(|at| weight(at).to_bits() == 0) {
            return 0.0;
        }
        let sum: Value = places().map(|at| weight(self.holder(at, stage))).sum();
        if sum == 0.0 { -0.0 } else { sum }
    }
}
