//! The dialect, the bounds, and the judgement of patterns.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Budget, Fit, Pattern};

fn fits(pattern: &str, value: &str) -> bool {
    let pattern = Pattern::new(pattern);
    assert_eq!(pattern.error(), None, "{}", pattern.as_str());
    match pattern.fits(value, &mut Budget::default()) {
        Fit::Yes => true,
        Fit::No => false,
        Fit::Unknown => panic!("{} on {value:?} ran out of budget", pattern.as_str()),
    }
}

#[test]
fn the_dialect_is_that_of_javascript_without_flags() {
    for (pattern, value, expected) in [
        // Code units, not characters.
        ("^.$", "é", true),
        ("^.$", "🎉", false),
        ("^..$", "🎉", true),
        ("^[🎉]$", "🎉", false),
        (r"^\ud83c\udf89$", "🎉", true),
        (r"^\u{3}$", "uuu", true),
        // ASCII words and digits, Unicode space.
        (r"^\w+$", "az_AZ09", true),
        (r"^\w$", "é", false),
        (r"^\d$", "٣", false),
        (r"^\s+$", "\u{a0}\u{feff}\u{3000}\u{2028} ", true),
        (r"^\s$", "\u{85}", false),
        (r"^\S+$", "a b", false),
        (r"^\W$", "é", true),
        ("^.$", "\u{2028}", false),
        ("^.$", "\u{85}", true),
        // `$` is the end and nothing else.
        ("^abc$", "abc\n", false),
        ("^a$b$", "a\nb", false),
        // Look-around.
        ("^(?=.*[a-z])(?=.*[0-9]).{2,8}$", "a1", true),
        ("^(?=.*[a-z])(?=.*[0-9]).{2,8}$", "aa", false),
        ("^(?!rm$)[a-z]+$", "rm", false),
        ("^(?!rm$)[a-z]+$", "rmx", true),
        ("^.*(?<=[ab])c$", "xac", true),
        ("^.*(?<=[ab])c$", "xxc", false),
        ("^.*(?<!a)c$", "ac", false),
        ("^(?=(a+))a*b\\1$", "baaabac", false),
        ("^(?:(?=(a+))a*b\\1)$", "aba", true),
        ("^.*(?<=(\\d+)(\\d+))$", "1053", true),
        // Back references.
        (r"^(a|b)\1$", "aa", true),
        (r"^(a|b)\1$", "ab", false),
        (r"^(?<x>a|b)-\k<x>$", "b-b", true),
        (r"^\k<x>$", "k<x>", true),
        (r"^(?:(a)|b)\1$", "b", true),
        (r"^\1(a)$", "a", true),
        (r"^(?:(a)|(b)|\1\2)*$", "abab", true),
        (r"^(z)((a+)?(b+)?(c))*$", "zaacbbbcac", true),
        // Annex B.
        ("^a{,2}$", "a{,2}", true),
        ("^a{2$", "a{2", true),
        ("^x{}$", "x{}", true),
        ("^]}$", "]}", true),
        ("^[^]$", "\n", true),
        ("^[]$", "a", false),
        (r"^\q\-\/$", "q-/", true),
        (r"^[\w-.]+$", "a-.", true),
        (r"^[a-]$", "-", true),
        (r"^\07$", "\u{7}", true),
        (r"^\101$", "A", true),
        (r"^\9$", "9", true),
        (r"^\cA$", "\u{1}", true),
        (r"^\c!$", "\\c!", true),
        (r"^[\c!]+$", "\\c!", true),
        (r"^[\b]$", "\u{8}", true),
        (r"^\x4$", "x4", true),
        (r"^\p{L}$", "p{L}", true),
        ("^(?=a)*b$", "b", true),
        // Repetition.
        ("^a{2,3}$", "a", false),
        ("^a{2,3}$", "aaa", true),
        ("^a{2,3}$", "aaaa", false),
        ("^(?:ab)+?$", "ababab", true),
        ("^(?:a?){3}$", "a", true),
        ("^(?:)*$", "", true),
        ("^(?:a*)*$", "aaa", true),
        (r"^(?:(?:é|\B|a)?)+?$", "aéa", true),
        ("^(?:a*?)*?b$", "aab", true),
        ("^(?=(?:a|)+?b)(?:|a|b)*?$", "aab", true),
        (r"^\bab\b$", "ab", true),
        (r"^a\Bb$", "ab", true),
        (r"^a\bb$", "ab", false),
        ("^a$|^b$", "b", true),
    ] {
        assert_eq!(fits(pattern, value), expected, "{pattern} on {value:?}");
    }
}

#[test]
fn what_does_not_compile_says_why() {
    for (pattern, what) in [
        ("^(a$", "Unterminated group"),
        ("[", "Unterminated character class"),
        ("^a)$", "Unmatched ')'"),
        ("^*$", "Nothing to repeat"),
        ("^a**$", "Nothing to repeat"),
        ("^{2}$", "Nothing to repeat"),
        ("^(?<=a)*$", "Nothing to repeat"),
        ("^[b-a]$", "Range out of order in character class"),
        ("^a{2,1}$", "numbers out of order in {} quantifier"),
        ("^(?i)a$", "Invalid group"),
        ("^(?<1>a)$", "Invalid capture group name"),
        ("^(?<a>b)(?<a>c)$", "Duplicate capture group name"),
        (r"^(?<a>b)\k<c>$", "Invalid named capture referenced"),
        (r"^(?<a>b)\k$", "Invalid named reference"),
        ("\\", "\\ at end of pattern"),
    ] {
        let error = Pattern::new(pattern).error().map(str::to_owned);
        assert_eq!(
            error,
            Some(format!("Invalid regular expression: /{pattern}/: {what}")),
            "{pattern}"
        );
        assert_eq!(
            Pattern::new(pattern).fits("a", &mut Budget::default()),
            Fit::No,
            "{pattern}"
        );
    }
}

#[test]
fn deep_nesting_and_huge_counts_are_refused_at_once() {
    let begun = Instant::now();
    let deep = format!("^{}a{}$", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Pattern::new(deep).error().unwrap().contains("too large"));
    assert!(
        Pattern::new("^(?:a{1000}){1000}$")
            .error()
            .unwrap()
            .contains("100000")
    );
    assert!(
        Pattern::new("^(?:){4294967295}$")
            .error()
            .unwrap()
            .contains("100000")
    );
    assert!(Pattern::new("^a{99999999999999999999}$").error().is_some());
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn fault_06_anchoring_is_semantic() {
    let problem = |pattern: &str| Pattern::new(pattern).anchoring_problem();
    for whole in ["^a$", "^$", "^a$|^b$", r"^a\\$", "^(?:a|b)$", "^a$$", "^[$]x$"] {
        assert_eq!(problem(whole), None, "{whole}");
    }
    for textual in ["a$", "^a", "a", "", r"(?:^a$)"] {
        assert_eq!(
            problem(textual).unwrap(),
            "pattern must be anchored (^...$)",
            "{textual}"
        );
    }
    assert!(problem("^a|b$").unwrap().ends_with("write ^(?:a|b)$"));
    assert!(problem("^x$|.*|^y$").unwrap().ends_with("write ^(?:x|.*|y)$"));
    assert!(problem("^a(b|c)|d$").unwrap().ends_with("write ^(?:a(b|c)|d)$"));
    assert!(problem(r"^foo\$").unwrap().ends_with(r"write ^foo\$$"));
    assert!(problem(r"^a|b\$").unwrap().ends_with(r"write ^(?:a|b\$)$"));
}

#[test]
fn a_value_must_match_as_a_whole_even_where_the_anchors_are_missing() {
    assert!(!fits("^a|b$", "axxx; rm"));
    assert!(!fits("^a|b$", "zzzb"));
    assert!(!fits(r"^foo\$", "foo$bar"));
    assert!(!fits("(?=a)a", "ab"));
}

#[test]
fn patterns_that_check_nothing_are_known() {
    for all in [
        "^.*$",
        "^.+$",
        r"^[\s\S]*$",
        "^[^]*$",
        "^(.*)$",
        "^(?:.|\\s)*$",
        "^.*.*$",
        "^a$|^.*$",
        "^[^\"]*$",
        "^(?:a|.*)$",
    ] {
        assert!(Pattern::new(all).accepts_everything(), "{all}");
    }
    for some in [
        "^.{1,5}$",
        "^[a-z]*$",
        "^a.*$",
        "^..+$",
        r"^\S+$",
        "^$",
        "^[^a]*$",
        "^(?!-).*$",
    ] {
        assert!(!Pattern::new(some).accepts_everything(), "{some}");
    }
}

#[test]
fn repetitions_of_repetitions_are_known() {
    for nested in ["^(a+)+$", "^(?:a*b?)*$", "^((a|b+))*$", "^(?=(x+)+y).*$"] {
        assert!(Pattern::new(nested).nests_repetitions(), "{nested}");
    }
    for plain in ["^(?:[a-z]+-)*[a-z]+$", "^a+b+$", "^(a{2})+$", "^(a+)?$"] {
        assert!(!Pattern::new(plain).nests_repetitions(), "{plain}");
    }
}

#[test]
fn fault_09_no_pattern_can_hang() {
    let evil = format!("{}!", "a".repeat(50_000));
    let begun = Instant::now();
    assert!(!fits("^(a+)+$", &evil));
    assert!(!fits("^(a|aa)+$", &evil));
    assert!(!fits("^(?:a|a)*$", &evil));
    for costly in [
        r"^(?=a)(a+)+$",
        r"^(a+)+\1$",
        r"^(?:(?=a)a|a(?!b))*$",
        "^(?<=(a+)+)b$|^(a*)*\\2$",
    ] {
        let pattern = Pattern::new(costly);
        assert!(pattern.backtracks(), "{costly}");
        assert_ne!(pattern.fits(&evil, &mut Budget::default()), Fit::Yes, "{costly}");
    }
    assert_eq!(
        Pattern::new(r"^(?=a)(a+)+$").fits(&evil, &mut Budget::default()),
        Fit::Unknown
    );
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}

#[test]
fn the_budget_is_shared_by_all_values_of_a_call() {
    let pattern = Pattern::new("^x+$");
    let mut budget = Budget::of(1000);
    let value = "x".repeat(200);
    assert_eq!(pattern.fits(&value, &mut budget), Fit::Yes);
    assert_eq!(pattern.fits(&value, &mut budget), Fit::Unknown);
    assert_eq!(pattern.fits("x", &mut budget), Fit::Unknown);
}

/// Patterns of every kind of part, over a small alphabet. (Not with characters beyond U+FFFF, which the other
/// engine reads as one unit, nor with `*?`, `+?` and counts within counts, on which it can fill all memory; the tables above
/// have those.)
fn patterns() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "-", "é", "c"]).prop_map(str::to_owned),
        2 => prop::sample::select(vec![
            ".", r"\w", r"\W", r"\d", r"\s", r"\S", "[ab]", "[^a]", "[a-c]", r"[\w-]", "[^]", r"\b", r"\B", "^",
            "$", r"\1", r"\2", r"\u0061", "{,1}",
        ])
        .prop_map(str::to_owned),
    ];
    let counted = prop::collection::vec(leaf.clone(), 1..3);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 0..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => inner.clone().prop_map(|part| format!("({part})")),
            3 => (counted.clone(), prop::sample::select(vec!["*", "+", "?", "??", "{2}", "{1,2}", "{0,2}?"]))
                .prop_map(|(parts, count)| format!("(?:{}){count}", parts.join("|"))),
            2 => (inner, prop::sample::select(vec!["(?=", "(?!", "(?<=", "(?<!"]))
                .prop_map(|(part, look)| format!("{look}{part})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn agrees_with_an_independent_engine(
        pattern in patterns(),
        values in prop::collection::vec("[abc é🎉\n-]{0,6}", 8),
    ) {
        let whole = format!("^(?:{pattern})$");
        let ours = Pattern::new(&*whole);
        let theirs = regress::Regex::with_flags(&whole, regress::Flags::default());
        prop_assert_eq!(ours.error().is_none(), theirs.is_ok(), "{}: {:?}", whole, ours.error());
        if let Ok(theirs) = theirs {
            for value in values {
                let units: Vec<u16> = value.encode_utf16().collect();
                let expected = theirs.find_from_ucs2(&units, 0).next().is_some();
                let fit = ours.fits(&value, &mut Budget::default());
                prop_assume!(fit != Fit::Unknown);
                prop_assert_eq!(fit == Fit::Yes, expected, "{} on {:?}", whole, value);
            }
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,20}", value in "\\PC{0,8}") {
        let _ = Pattern::new(text).fits(&value, &mut Budget::of(100_000));
    }

    #[test]
    fn any_punctuation_is_parsed_or_refused(text in r"[\\^$.|?*+(){}\[\]<>=!:,a1k-]{0,16}") {
        let pattern = Pattern::new(text);
        let _ = pattern.fits("a1k", &mut Budget::of(100_000));
        let _ = pattern.anchoring_problem();
        let _ = pattern.accepts_everything();
        let _ = pattern.nests_repetitions();
    }
}
