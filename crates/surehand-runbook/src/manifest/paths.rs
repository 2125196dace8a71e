//! Paths as a manifest means them: worked out on the text, as the file system is not asked where `..` leads.

use std::path::{Component, Path, PathBuf};

/// `path` seen from `base`, without `.` and `..`.
pub(crate) fn resolve(base: &Path, path: &str) -> PathBuf {
    normalised(&base.join(path))
}

/// The absolute form of a path that was given on the command line.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| normalised(&path))
}

fn normalised(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// `path` as it is written from inside `folder`, with `..` where it is outside. Both are absolute.
pub(crate) fn relative(folder: &Path, path: &Path) -> PathBuf {
    let common = folder
        .components()
        .zip(path.components())
        .take_while(|(left, right)| left == right)
        .count();
    let ups = folder.components().count() - common;
    std::iter::repeat_n(Component::ParentDir, ups)
        .chain(path.components().skip(common))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{relative, resolve};

    #[test]
    fn resolves_on_the_text() {
        let base = Path::new("/a/b");
        assert_eq!(resolve(base, "sub/../x.sh"), PathBuf::from("/a/b/x.sh"));
        assert_eq!(resolve(base, "../../../x"), PathBuf::from("/x"));
        assert_eq!(resolve(base, "/abs/./y"), PathBuf::from("/abs/y"));
        assert_eq!(resolve(base, ""), PathBuf::from("/a/b"));
    }

    #[test]
    fn relative_paths_climb_where_they_must() {
        assert_eq!(
            relative(Path::new("/a/b"), Path::new("/a/b/c/d")),
            PathBuf::from("c/d")
        );
        assert_eq!(
            relative(Path::new("/a/b"), Path::new("/a/x")),
            PathBuf::from("../x")
        );
    }
}
