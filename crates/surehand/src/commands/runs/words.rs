//! Times, durations and ends in words.

use jiff::{Timestamp, tz::TimeZone};
use surehand_core::RunStatus;
use surehand_store::RunSummary;

/// The time here, to the second.
pub(super) fn time(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string()
}

/// `350ms`, `1.2s`, `2m15s`, `3h05m`.
pub(super) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0 => format!("{milliseconds}ms"),
        1..60 => format!("{seconds}.{}s", milliseconds % 1_000 / 100),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// How a run stands, in one or two words.
pub(super) fn state(run: &RunSummary) -> String {
    match (run.status, run.exit_code, &run.signal) {
        (RunStatus::Failed, _, Some(signal)) => format!("failed ({signal})"),
        (RunStatus::Failed, Some(code), None) => format!("failed (exit {code})"),
        (status, _, _) if !status.is_final() && run.cancel_requested.is_some() => {
            format!("{} (cancelling)", status.as_str())
        }
        (status, _, _) => status.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_read_well() {
        for (milliseconds, words) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_250, "1.2s"),
            (59_999, "59.9s"),
            (135_000, "2m15s"),
            (3_600_000 * 3 + 5 * 60_000, "3h05m"),
        ] {
            assert_eq!(duration(milliseconds), words);
        }
    }
}
