//! Numbers as text.

use serde_json::Number;

/// A number as ECMAScript prints it (ECMA-262, `Number::toString`).
pub(crate) fn to_ecmascript(number: f64) -> String {
    ryu_js::Buffer::new().format(number).to_owned()
}

/// A whole number in plain digits.
///
/// # Errors
/// When the number has a fraction, or is not exactly what was sent once it is a double, as it is for every
/// reader of JSON that follows ECMAScript. The error ends a sentence that begins with the parameter's name.
pub(super) fn to_digits(number: &Number) -> Result<String, String> {
    let double = number.as_f64().filter(|double| double.is_finite());
    let Some(double) = double else {
        return Err("must be a finite number".to_owned());
    };
    if double.fract() != 0.0 {
        return Err("must be an integer".to_owned());
    }
    let written: Option<i128> = number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what was written as a whole number is below 2^64, where the conversion is exact"
    )]
    if written.is_some_and(|written| double as i128 != written) {
        return Err("must be an integer that a double can hold exactly (up to 2^53 all can)".to_owned());
    }
    // Adding zero makes -0 a plain 0.
    Ok(format!("{:.0}", double + 0.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Number, Value};

    use super::{to_digits, to_ecmascript};

    fn number(text: &str) -> Number {
        match serde_json::from_str(text) {
            Ok(Value::Number(number)) => number,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn prints_as_ecmascript_does() {
        for (number, text) in [
            (-0.0, "0"),
            (1.0, "1"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (0.1 + 0.2, "0.30000000000000004"),
            (-1.5, "-1.5"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(to_ecmascript(number), text);
        }
    }

    #[test]
    fn fault_30_integers_are_plain_digits_and_exact() {
        assert_eq!(to_digits(&number("1e21")).unwrap(), "1000000000000000000000");
        assert_eq!(to_digits(&number("-0.0")).unwrap(), "0");
        assert_eq!(to_digits(&number("3.0")).unwrap(), "3");
        assert_eq!(
            to_digits(&number("9007199254740992")).unwrap(),
            "9007199254740992"
        );
        assert!(
            to_digits(&number("9007199254740993"))
                .unwrap_err()
                .contains("exactly")
        );
        assert!(
            to_digits(&number("-9007199254740993"))
                .unwrap_err()
                .contains("exactly")
        );
        assert!(
            to_digits(&number("18446744073709551615"))
                .unwrap_err()
                .contains("exactly")
        );
        assert_eq!(
            to_digits(&number("9007199254740994")).unwrap(),
            "9007199254740994"
        );
        assert!(to_digits(&number("1.5")).unwrap_err().contains("integer"));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_as_the_same_double(number in proptest::num::f64::NORMAL) {
            prop_assert_eq!(to_ecmascript(number).parse::<f64>().unwrap().to_bits(), number.to_bits());
        }

        #[test]
        fn exact_integers_read_back(value in -(1_i64 << 53)..=(1_i64 << 53)) {
            prop_assert_eq!(to_digits(&Number::from(value)).unwrap(), value.to_string());
        }
    }
}
