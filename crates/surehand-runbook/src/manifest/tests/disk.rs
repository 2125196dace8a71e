//! The fifth stage.

use serde_json::json;

use super::{on_disk, places, with_runbook};
use crate::manifest::check_files;

#[test]
fn files_must_be_there() {
    let (folder, manifest) = on_disk(&json!({"version": 1, "runbooks": [
        {"name": "a", "description": "d", "script": "gone.sh", "interpreter": "bash", "cwd": "nodir"},
        {"name": "b", "description": "d", "script": ".", "interpreter": "bash", "cwd": "a.sh"},
        {"name": "c", "description": "d", "script": "a.sh", "interpreter": "bash"},
    ]}));
    let root = folder.path().display();
    let texts: Vec<String> = check_files(&manifest).iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            format!("a: script not found: {root}/gone.sh"),
            format!("a: cwd is not a directory: {root}/nodir"),
            format!("b: script not found: {root} (it is a folder)"),
            format!("b: cwd is not a directory: {root}/a.sh"),
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_dangling_link_is_no_script() {
    let (folder, manifest) = on_disk(&with_runbook(json!({"script": "link.sh"})));
    std::os::unix::fs::symlink("nowhere", folder.path().join("link.sh")).unwrap();
    assert_eq!(places(&check_files(&manifest)), ["t"]);
}

#[test]
fn fault_18_scripts_can_be_pinned() {
    let right = "0a0f4b0d8c6f6ac2bd2d2e0cf7d6d5ac5bb4bd3bd6c2bb2fb7d9f44e3d6f3e1b";
    let (_folder, manifest) = on_disk(&with_runbook(json!({"sha256": right})));
    let problems = check_files(&manifest);
    assert_eq!(places(&problems), ["t"]);
    assert!(problems[0].message.contains(right), "{problems:?}");
    let found = crate::script::sha256(&manifest.folder().join("a.sh")).unwrap();
    assert!(problems[0].message.contains(&hex::encode(found)), "{problems:?}");
    let (_folder, manifest) = on_disk(&with_runbook(
        json!({"sha256": hex::encode(found).to_uppercase()}),
    ));
    assert_eq!(check_files(&manifest), []);
}

#[cfg(unix)]
#[test]
fn fault_18_scripts_can_be_kept_inside_the_folder() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x.sh"), "").unwrap();
    for (keys, contained) in [
        (json!({}), true),
        (json!({"script": outside.path().join("x.sh")}), false),
        (json!({"script": "link.sh"}), false),
        (json!({"cwd": ".."}), false),
    ] {
        let mut document = with_runbook(keys.clone());
        document["containScripts"] = json!(true);
        let (folder, manifest) = on_disk(&document);
        std::os::unix::fs::symlink(outside.path().join("x.sh"), folder.path().join("link.sh")).unwrap();
        assert_eq!(check_files(&manifest).is_empty(), contained, "{keys}");
        let mut free = manifest;
        free.contain_scripts = false;
        assert_eq!(check_files(&free), [], "{keys}");
    }
}

#[test]
fn a_confined_path_must_exist() {
    let (_folder, manifest) = on_disk(&with_runbook(
        json!({"confine": {"read": ["."], "write": ["gone"]}}),
    ));
    let problems = check_files(&manifest);
    assert!(
        problems
            .iter()
            .any(|problem| problem.message.contains("does not exist"))
    );
}

#[cfg(unix)]
#[test]
fn a_confined_path_leads_through_no_link() {
    let (folder, manifest) = on_disk(&with_runbook(json!({"confine": {"write": ["out/sub"]}})));
    std::fs::create_dir(folder.path().join("real")).unwrap();
    std::fs::create_dir(folder.path().join("out")).unwrap();
    std::os::unix::fs::symlink("../real", folder.path().join("out/sub")).unwrap();
    let problems = check_files(&manifest);
    assert!(
        problems[0]
            .message
            .contains("out/sub leads through a symbolic link"),
        "{problems:?}"
    );
    assert!(problems[0].message.ends_with("/real"), "{problems:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_script_that_is_no_file_says_what_it_is() {
    let (folder, manifest) = on_disk(&with_runbook(
        json!({"script": "pipe", "sha256": "00".repeat(32)}),
    ));
    let pipe = folder.path().join("pipe");
    crate::regular_file::make_pipe(&pipe);
    let problems = check_files(&manifest);
    assert_eq!(
        problems[0].message,
        format!("script not found: {} (it is a named pipe)", pipe.display())
    );
}
