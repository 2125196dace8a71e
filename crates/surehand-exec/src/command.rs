//! What is to be run.

use std::{ffi::OsString, path::PathBuf};

/// One process to start, described completely: nothing is taken from the embedding process.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program: a path if it holds a `/` (a relative one is resolved in `cwd`), else a name that is
    /// looked up in the `PATH` of `env`.
    pub program: OsString,
    /// The arguments after the program's own name.
    pub args: Vec<OsString>,
    /// The working directory. Absolute.
    pub cwd: PathBuf,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// What the process reads.
    pub stdin: Stdin,
    /// What the process may not do, enforced by the kernel.
    pub confinement: Option<Confinement>,
}

/// What a process finds on its standard input.
#[derive(Debug, Clone, Default)]
pub enum Stdin {
    /// Nothing: `/dev/null`.
    #[default]
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
}

/// What a confined process may do; everything else is refused by the kernel, for its descendants too.
///
/// Whatever it may write, it changes no file's mode, owner, times (other than by an open file) or attributes, and nothing
/// about other processes or the machine.
///
/// On Linux: Landlock (paths; signals and abstract sockets from Linux 6.12 on) and seccomp (the rest). Not available elsewhere:
/// [`Confinement::enforceable`] says so, and a confined command is then never started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confinement {
    /// Absolute paths without symbolic links: a command whose grants lead through one is not started, since somebody may
    /// have put it there.
    ///
    /// Files and folders (with all below) that may be read and executed.
    pub read: Vec<PathBuf>,
    /// Files and folders (with all below) that may be read and changed.
    pub write: Vec<PathBuf>,
    /// Whether sockets of the Internet families may be made.
    pub network: bool,
}
