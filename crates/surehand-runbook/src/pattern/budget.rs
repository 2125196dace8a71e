//! How much work may be spent on matching.

/// Steps of the linear machine that checking one call may cost: some tenths of a second.
const STEPS: u64 = 50_000_000;

/// What is left to spend on the checks of one call. Shared by all its values, so that many values cannot cost
/// more than one.
#[derive(Debug, Clone)]
pub struct Budget {
    left: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(STEPS)
    }
}

impl Budget {
    /// A budget of so many steps.
    #[must_use]
    pub fn of(steps: u64) -> Self {
        Self { left: steps }
    }

    /// Spends; false when nothing is left.
    pub(super) fn spend(&mut self, steps: u64) -> bool {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}
