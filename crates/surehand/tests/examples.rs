//! The example runbooks run here, through the program, and do what they say.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/runbooks")
        .canonicalize()
        .unwrap()
}

fn call(words: &[&str]) -> Output {
    let state = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_surehand"))
        .arg("call")
        .args(words)
        .arg("--manifest")
        .arg(examples().join("runbooks.json"))
        .env("SUREHAND_STATE_DIR", state.path())
        .output()
        .unwrap()
}

fn succeeds(words: &[&str]) -> String {
    let output = call(words);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn run(program: &str, args: &[&str], folder: &Path) {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
}

#[test]
fn every_manifest_and_client_configuration_is_valid() {
    for manifest in ["runbooks.json", "strict.json"] {
        let output = Command::new(env!("CARGO_BIN_EXE_surehand"))
            .args(["validate", "--manifest"])
            .arg(examples().join(manifest))
            .output()
            .unwrap();
        assert!(output.status.success(), "{manifest}: {output:?}");
    }
    let mut seen = 0;
    let mut open = vec![examples().join("../clients")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let _: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
                seen += 1;
            }
        }
    }
    assert!(seen >= 3, "{seen}");
}

#[test]
fn hello_greets() {
    assert!(succeeds(&["hello", "name=team"]).contains("Hello, team!"));
}

#[test]
fn disk_report_reports() {
    assert!(succeeds(&["disk_report"]).contains('%'));
}

#[test]
fn search_logs_finds_and_finds_nothing() {
    assert!(succeeds(&["search_logs", "word=timeout", "level=ERROR"]).contains("upstream timeout"));
    assert!(succeeds(&["search_logs", "word=nowhere"]).contains("0 matching line"));
}

#[test]
fn git_report_and_git_housekeeping_look_at_a_repository() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().to_str().unwrap();
    run(
        "git",
        &["init", "--quiet", "--initial-branch", "main"],
        folder.path(),
    );
    run(
        "git",
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "first",
        ],
        folder.path(),
    );
    run("git", &["branch", "merged"], folder.path());
    let given = format!("repository={repository}");
    assert!(succeeds(&["git_report", &given]).contains("main"));
    assert!(succeeds(&["git_housekeeping", &given, "dryRun=true"]).contains("DRY RUN"));
    // It asks a person; nobody is there to answer, so it does not run.
    let output = call(&["git_housekeeping", &given]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("pending_approval"),
        "{output:?}"
    );
}

#[test]
fn service_health_tells_up_from_down() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("port={}", listener.local_addr().unwrap().port());
    assert!(succeeds(&["service_health", &port]).contains("UP"));
    drop(listener);
    let output = call(&["service_health", &port]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("DOWN"),
        "{output:?}"
    );
}

/// Whether a program that an example needs is on this machine.
fn is_there(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", "command -v \"$1\"", "sh", program])
        .output()
        .unwrap()
        .status
        .success()
}

#[test]
fn backup_sqlite_makes_a_sound_copy_or_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    // Our own history is an SQLite file.
    let made = Command::new(env!("CARGO_BIN_EXE_surehand"))
        .args(["call", "hello", "--manifest"])
        .arg(examples().join("runbooks.json"))
        .env("SUREHAND_STATE_DIR", folder.path().join("state"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let database = format!("database={}", folder.path().join("state/history.db").display());
    let backups = folder.path().join("backups");
    let output = call(&[
        "backup_sqlite",
        &database,
        &format!("directory={}", backups.display()),
    ]);
    if is_there("sqlite3") || is_there("python3") {
        assert!(output.status.success(), "{output:?}");
        let copies: Vec<_> = fs::read_dir(backups)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(copies.len(), 1, "{copies:?}");
        assert!(fs::read(&copies[0]).unwrap().starts_with(b"SQLite format 3\0"));
    } else {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("nothing was done"),
            "{output:?}"
        );
    }
}

#[test]
fn certificate_expiry_tells_a_long_from_a_short_life_or_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, days: &str| {
        let path = folder.path().join(name);
        run(
            "sh",
            &[
                examples().join("fixtures/make-certificate.sh").to_str().unwrap(),
                path.to_str().unwrap(),
                days,
            ],
            folder.path(),
        );
        format!("file={}", path.display())
    };
    if is_there("openssl") {
        succeeds(&["certificate_expiry", &make("long.pem", "365")]);
        assert_eq!(
            call(&["certificate_expiry", &make("short.pem", "5")])
                .status
                .code(),
            Some(1)
        );
    } else {
        let path = folder.path().join("a.pem");
        fs::write(&path, "").unwrap();
        let output = call(&["certificate_expiry", &format!("file={}", path.display())]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("openssl"),
            "{output:?}"
        );
    }
}
