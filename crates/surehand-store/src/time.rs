//! Times as they stand in the store.

use jiff::{SignedDuration, Timestamp};

/// RFC 3339, UTC, exactly three decimals: text order is time order.
pub(crate) fn to_text(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// `at` less `duration`; the earliest time there is, where that lies before it.
pub(crate) fn before(at: Timestamp, duration: SignedDuration) -> Timestamp {
    at.checked_sub(duration).unwrap_or(Timestamp::MIN)
}

/// The least text that a run id made at `at` or later has (RFC 9562, section 5.7: the first 48 bits of a
/// version 7 UUID are milliseconds since 1970).
pub(crate) fn least_id(at: Timestamp) -> String {
    let ms = at.as_millisecond().max(0);
    let hex = format!("{ms:012x}");
    format!("{}-{}", &hex[..8], &hex[8..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_order_is_time_order() {
        let early: Timestamp = "2026-11-30T16:55:16Z".parse().unwrap();
        let late: Timestamp = "2026-11-30T16:55:16.0019Z".parse().unwrap();
        assert_eq!(to_text(early), "2026-11-30T16:55:16.000Z");
        assert_eq!(to_text(late), "2026-11-30T16:55:16.001Z");
        assert!(to_text(early) < to_text(late));
    }

    #[test]
    fn a_fresh_id_is_not_below_the_least_id_of_its_time() {
        let at = Timestamp::now();
        let id = surehand_core::RunId::generate().as_text();
        assert!(least_id(at) <= id);
        assert!(least_id(at + SignedDuration::from_secs(1)) > id);
    }
}
