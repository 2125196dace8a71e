//! "Did you mean".

/// The candidate that is most like `wanted`, if any is like it at all.
///
/// Case and the separators `_` and `-` count little; otherwise about one edit in three characters is forgiven.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| text.to_lowercase().replace('-', "_");
    let folded = fold(wanted);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&folded, &fold(candidate)), candidate))
        .filter(|(distance, candidate)| {
            *distance * 3 <= wanted.chars().count().max(candidate.chars().count())
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn forgives_case_and_slips() {
        let names = ["report_only", "dry_run", "force"];
        assert_eq!(nearest("dryRun", names), Some("dry_run"));
        assert_eq!(nearest("ForCe", names), Some("force"));
        assert_eq!(nearest("zzz", names), None);
        assert_eq!(nearest("", names), None);
    }
}
