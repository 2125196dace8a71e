//! Where things are.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Where Cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    let folder = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    root().join(folder)
}

/// Where the chores keep what they install for tests and benchmarks.
pub(crate) fn tools() -> PathBuf {
    target().join("xtask")
}
