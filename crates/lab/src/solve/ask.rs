//! Questions to a solution.
