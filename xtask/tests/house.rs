//! The rules of the house that a compiler does not see.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Which crates of ours each crate may depend on when it is shipped.
const ARROWS: &[(&str, &[&str])] = &[
    ("surehand-core", &[]),
    ("surehand-exec", &[]),
    ("surehand-policy", &["surehand-core"]),
    ("surehand-store", &["surehand-core"]),
    ("surehand-host", &["surehand-core"]),
    ("surehand-mcp", &["surehand-core"]),
    ("surehand-runbook", &["surehand-core", "surehand-exec"]),
    (
        "surehand",
        &[
            "surehand-core",
            "surehand-exec",
            "surehand-host",
            "surehand-mcp",
            "surehand-policy",
            "surehand-runbook",
            "surehand-store",
        ],
    ),
    ("testkit", &[]),
    ("xtask", &["surehand-runbook"]),
];

/// No file may be longer, in lines.
const LONGEST: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// The files that belong to the project, with their text; binary files are left out.
fn files() -> Vec<(String, String)> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(listed.status.success(), "the tests run in a git checkout");
    let files: Vec<_> = String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .filter_map(|name| Some((name.to_owned(), fs::read_to_string(root().join(name)).ok()?)))
        .collect();
    assert!(files.len() > 50);
    files
}

#[test]
fn dependencies_point_inward() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: BTreeSet<&str> = packages
        .iter()
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    let allowed: BTreeMap<&str, BTreeSet<&str>> = ARROWS
        .iter()
        .map(|(name, to)| (*name, to.iter().copied().collect()))
        .collect();
    assert_eq!(
        ours,
        allowed.keys().copied().collect(),
        "every crate has its arrows here"
    );
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let arrows: BTreeSet<&str> = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            // Tests may look further: testkit and dev-dependencies are not shipped.
            .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
            .map(|dependency| dependency["name"].as_str().unwrap())
            .filter(|dependency| ours.contains(dependency))
            .collect();
        assert!(arrows.is_subset(&allowed[name]), "{name} depends on {arrows:?}");
    }
}

#[test]
fn no_file_is_too_long() {
    for (name, text) in files() {
        if Path::new(&name)
            .extension()
            .is_some_and(|extension| extension == "rs")
        {
            let lines = text.lines().count();
            assert!(lines <= LONGEST, "{name} has {lines} lines");
        }
    }
}

#[test]
fn no_file_names_a_registry_or_a_path_of_one_machine() {
    let words = [
        format!("registry.{}", "npmjs"),
        format!("crates{}io", '.'),
        format!("pypi{}org", '.'),
        format!("{}work/", '/'),
        format!("{}root/", '/'),
        format!("{}farm/", '/'),
    ];
    for (name, text) in files() {
        if name == "Cargo.lock" || name.ends_with("package-lock.json") {
            continue;
        }
        for word in &words {
            assert!(!text.contains(word.as_str()), "{name} contains {word}");
        }
    }
}

#[test]
fn only_one_file_has_unsafe_code() {
    let word = format!("{} {{", "unsafe");
    let with: Vec<String> = files()
        .into_iter()
        .filter(|(name, text)| name.ends_with(".rs") && text.contains(&word))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(with, ["crates/surehand-exec/src/sys.rs"]);
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let files = files();
    let model = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let named: Vec<&str> = model
        .split("test: `")
        .skip(1)
        .filter_map(|rest| rest.split('`').next())
        .collect();
    assert!(
        named.len() > 10,
        "the threat model names its tests as test: `name`"
    );
    for name in named {
        let function = format!("fn {name}(");
        assert!(
            files
                .iter()
                .any(|(file, text)| file.ends_with(".rs") && text.contains(&function)),
            "SECURITY.md names {name}, which is no test"
        );
    }
}

#[test]
fn every_relative_link_of_a_page_leads_somewhere() {
    for (name, text) in files() {
        if !name.ends_with(".md") {
            continue;
        }
        let folder = root().join(&name).parent().unwrap().to_path_buf();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap();
            if path.is_empty() || path.contains("://") || path.contains(' ') {
                continue;
            }
            assert!(
                folder.join(path).exists(),
                "{name} links to {path}, which is not there"
            );
        }
    }
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for (name, _) in files() {
        if let Some(page) = name.strip_prefix("docs/")
            && page.ends_with(".md")
            && page != "SUMMARY.md"
        {
            assert!(
                summary.contains(&format!("({page})")),
                "{page} is not in SUMMARY.md"
            );
        }
    }
}
