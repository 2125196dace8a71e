//! Every `sh` block of every page runs: from the root of a copy of the repository, in order, in one shell a page, with
//! nothing of the caller's home and state.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The project's files, by their path from the root.
fn files() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(listed.status.success(), "the tests run in a git checkout");
    String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .filter(|name| root().join(name).is_file())
        .map(ToOwned::to_owned)
        .collect()
}

fn blocks(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in page.lines() {
        match &mut open {
            Some(block) if line == "```" => {
                blocks.push(std::mem::take(block));
                open = None;
            }
            Some(block) => block.extend([line, "\n"]),
            None if line == "```sh" => open = Some(String::new()),
            None => {}
        }
    }
    blocks
}

fn copy(files: &[String], to: &Path) {
    for name in files {
        let target = to.join(name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(root().join(name), target).unwrap();
    }
}

/// Runs a page's blocks; the transcript if one fails.
fn run(files: &[String], page: &str) -> Result<usize, String> {
    let blocks = blocks(&fs::read_to_string(root().join(page)).unwrap());
    if blocks.is_empty() {
        return Ok(0);
    }
    let folder = tempfile::tempdir().unwrap();
    let (clone, bin, home) = (
        folder.path().join("surehand"),
        folder.path().join("bin"),
        folder.path().join("home"),
    );
    copy(files, &clone);
    fs::create_dir_all(&home).unwrap();
    fs::create_dir_all(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_surehand"), bin.join("surehand")).unwrap();
    let numbered = (1..)
        .zip(&blocks)
        .map(|(number, block)| format!("echo '== block {number}' >&2\n{block}"));
    let script = ["set -e\n".to_owned()]
        .into_iter()
        .chain(numbered)
        .collect::<String>();
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(&clone)
        .env_clear()
        .env("PATH", format!("{}:{}", bin.display(), env::var("PATH").unwrap()))
        .env("HOME", &home)
        .env("TMPDIR", folder.path())
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if output.status.success() {
        return Ok(blocks.len());
    }
    Err(format!(
        "{page} ended with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

#[test]
fn every_shell_block_of_every_page_runs() {
    let files = files();
    let is_page = |name: &&String| {
        Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "md")
    };
    let pages: Vec<&String> = files.iter().filter(is_page).collect();
    let results: Vec<_> = pages.iter().map(|page| run(&files, page)).collect();
    let failures: Vec<&String> = results
        .iter()
        .filter_map(|result| result.as_ref().err())
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
    let ran: usize = results.into_iter().filter_map(Result::ok).sum();
    assert!(ran > 20, "only {ran} blocks ran");
}

#[test]
fn the_first_command_of_the_readme_runs_a_script() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let command = readme
        .lines()
        .find_map(|line| line.strip_prefix("cargo run -- "))
        .expect("the README's first command is `cargo run -- ...`");
    let state = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_surehand"))
        .args(command.split(' '))
        .current_dir(root())
        .env("SUREHAND_STATE_DIR", state.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("Hello, team!"),
        "{output:?}"
    );
}
