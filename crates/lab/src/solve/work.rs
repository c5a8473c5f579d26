//! How the work on a layer is shared out among threads: in parts of a fixed size, so that nothing depends
//! on how many threads there are.

use crate::share::share;

/// States of a part: few enough that a layer of ten thousands keeps several threads busy.
const PART: usize = 1 << 14;

/// Who works, and who may say that it is enough.
pub(super) struct Work<'a> {
    pub(super) threads: usize,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// Someone wants to stop.
pub(super) struct Stopped;

impl Work<'_> {
    /// What each part of some codes comes to, in order.
    pub(super) fn in_parts<T: Send>(
        &self,
        codes: &[u64],
        one: impl Fn(&[u64]) -> T + Sync,
    ) -> Result<Vec<T>, Stopped> {
        let parts = codes.len().div_ceil(PART);
        self.each(parts, |part| {
            let from = part * PART;
            one(&codes[from..codes.len().min(from + PART)])
        })
    }

    /// A number for each code, in order.
    pub(super) fn number_each(
        &self,
        codes: &[u64],
        one: impl Fn(u64) -> f64 + Sync,
    ) -> Result<Vec<f64>, Stopped> {
        let parts = self.in_parts(codes, |part| {
            part.iter().map(|&code| one(code)).collect::<Vec<_>>()
        })?;
        Ok(parts.concat())
    }

    /// All codes of some runs that are in order, each once and in order.
    pub(super) fn merged(&self, mut runs: Vec<Vec<u64>>) -> Result<Vec<u64>, Stopped> {
        while runs.len() > 1 {
            let pairs: Vec<&[Vec<u64>]> = runs.chunks(2).collect();
            runs = self.each(pairs.len(), |pair| match pairs[pair] {
                [a, b] => merge(a, b),
                rest => rest.concat(),
            })?;
        }
        Ok(runs.pop().unwrap_or_default())
    }

    fn each<T: Send>(
        &self,
        count: usize,
        one: impl Fn(usize) -> T + Sync,
    ) -> Result<Vec<T>, Stopped> {
        let threads = self.threads.min(count);
        let done = share(threads, 0..count as u64, self.stop, || {
            |number| one(number as usize)
        });
        if done.len() == count && !(self.stop)() {
            Ok(done)
        } else {
            Err(Stopped)
        }
    }
}

/// Two runs as one, without what both have.
fn merge(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        all.push(a[i].min(b[j]));
        let (step_a, step_b) = (a[i] <= b[j], b[j] <= a[i]);
        i += usize::from(step_a);
        j += usize::from(step_b);
    }
    all.extend_from_slice(&a[i..]);
    all.extend_from_slice(&b[j..]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_become_one_without_doubles() {
        let work = Work {
            threads: 2,
            stop: &|| false,
        };
        let runs = vec![vec![1, 4, 9], vec![], vec![1, 2, 9, 10], vec![3], vec![4]];
        assert_eq!(work.merged(runs).ok(), Some(vec![1, 2, 3, 4, 9, 10]));
        assert_eq!(work.merged(vec![]).ok(), Some(vec![]));
    }
}
