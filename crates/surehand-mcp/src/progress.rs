//! Progress of a call to its client.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Number, Value, json};
use surehand_core::{Progress, ProgressSink};

use crate::{outbox::Outbox, wire};

/// Stands between a call and the outbox: nothing passes once the call's answer is under way.
#[derive(Debug)]
pub(crate) struct Gate {
    /// None once closed; else the last progress that went out.
    last: Mutex<Option<f64>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            last: Mutex::new(Some(f64::NEG_INFINITY)),
        }
    }
}

impl Gate {
    /// Lets nothing pass any more. When this returns, nothing is passing.
    pub(crate) fn close(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A sink that sends `notifications/progress` with this token: only while the gate is open, only values that
/// grow (MCP, "Progress"), and none while the client does not keep up with reading.
pub(crate) fn sink(token: Value, gate: Arc<Gate>, outbox: Arc<Outbox>) -> ProgressSink {
    Arc::new(move |progress: Progress| {
        let mut last = gate.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(reported) = *last else { return };
        if !progress.done.is_finite() || progress.done <= reported || outbox.is_congested() {
            return;
        }
        *last = Some(progress.done);
        let mut params = json!({"progressToken": token, "progress": number(progress.done)});
        if let Some(total) = progress.total.filter(|total| total.is_finite()) {
            params["total"] = number(total);
        }
        if !progress.message.is_empty() {
            params["message"] = Value::String(progress.message);
        }
        outbox.push(wire::notification("notifications/progress", Some(&params)));
    })
}

/// Whole numbers without a fraction.
#[expect(
    clippy::cast_possible_truncation,
    reason = "whole numbers of this size are held exactly by both types"
)]
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        Value::from(value as i64)
    } else {
        Number::from_f64(value).map_or(Value::Null, Value::Number)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use surehand_core::Progress;

    use super::{Gate, number, sink};
    use crate::outbox::Outbox;

    #[tokio::test]
    async fn progress_grows_and_ends_with_the_gate() {
        let (gate, outbox) = (Arc::new(Gate::default()), Arc::new(Outbox::default()));
        let report = sink(json!("t"), gate.clone(), outbox.clone());
        for done in [0.0, 1.5, 1.5, 1.0, f64::NAN, 2.0] {
            report(Progress {
                done,
                total: None,
                message: String::new(),
            });
        }
        gate.close();
        report(Progress {
            done: 3.0,
            total: None,
            message: "late".to_owned(),
        });
        outbox.close();
        let mut written = Vec::new();
        outbox.write_to(&mut written).await;
        let sent: Vec<Value> = String::from_utf8(written)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["params"]["progress"].clone())
            .collect();
        assert_eq!(sent, [json!(0), json!(1.5), json!(2)]);
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        assert_eq!(number(3.0).to_string(), "3");
        assert_eq!(number(0.25).to_string(), "0.25");
    }
}
