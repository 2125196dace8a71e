//! Starting the program itself, and saying precisely why it did not start.

use std::{
    ffi::OsStr,
    fs, io,
    io::Read,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::PermissionsExt, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::{io::Errno, process::Pid};

use crate::{StartError, StartErrorKind, confine, sys, wire::StartRequest};

/// What execvp(3) uses where there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// The kernel reads this much of a file to find its `#!` line.
const SHEBANG_LENGTH: u64 = 256;

/// Starts the program with these three standard streams, in a process group of its own.
pub(crate) fn launch(request: &StartRequest<'_>, streams: &[OwnedFd; 3]) -> Result<Pid, StartError> {
    let program = find(request)?;
    let spawned = match spawn(request, streams, &program, request.program, &[]) {
        // As execvp(3) does for a text file without `#!`.
        Err(error) if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => spawn(
            request,
            streams,
            Path::new("/bin/sh"),
            OsStr::new("sh"),
            &[program.as_os_str()],
        ),
        other => other,
    };
    spawned.map_err(|error| explain(request, &program, &error))
}

fn spawn(
    request: &StartRequest<'_>,
    streams: &[OwnedFd; 3],
    program: &Path,
    name: &OsStr,
    first: &[&OsStr],
) -> io::Result<Pid> {
    let [stdin, stdout, stderr] = streams;
    let mut command = Command::new(program);
    command
        .arg0(name)
        .args(first)
        .args(&request.args)
        .env_clear()
        .envs(request.env.iter().copied())
        .current_dir(request.cwd)
        .stdin(Stdio::from(stdin.try_clone()?))
        .stdout(Stdio::from(stdout.try_clone()?))
        .stderr(Stdio::from(stderr.try_clone()?))
        .process_group(0);
    if let Some(confinement) = &request.confinement {
        let sealed = confine::prepare(confinement, program)?;
        sys::before_exec(&mut command, move || sealed.enter());
    }
    let id = sys::with_open_ears(|| command.spawn())?.id();
    i32::try_from(id)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("impossible process id"))
}

/// The file to execute, found as execvp(3) finds it in the child's own environment and folder.
fn find(request: &StartRequest<'_>) -> Result<PathBuf, StartError> {
    let name = request.program;
    if name.as_bytes().contains(&b'/') {
        return Ok(request.cwd.join(name));
    }
    let path = request
        .env
        .iter()
        .rev()
        .find(|(variable, _)| *variable == "PATH")
        .map_or(OsStr::new(DEFAULT_PATH), |(_, value)| *value);
    let mut denied = None;
    for folder in std::env::split_paths(path) {
        let candidate = request.cwd.join(folder).join(name);
        match fs::metadata(&candidate) {
            Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => return Ok(candidate),
            Ok(_) => denied = Some(candidate),
            Err(_) => {}
        }
    }
    if let Some(cause) = bad_folder(request.cwd) {
        return Err(StartError {
            kind: StartErrorKind::NotFound,
            cause,
        });
    }
    Err(match denied {
        Some(candidate) => StartError {
            kind: StartErrorKind::Denied,
            cause: format!("{} is not an executable file", candidate.display()),
        },
        None => StartError {
            kind: StartErrorKind::NotFound,
            cause: format!("{} was not found in PATH ({})", name.display(), path.display()),
        },
    })
}

fn explain(request: &StartRequest<'_>, program: &Path, error: &io::Error) -> StartError {
    let kind = StartErrorKind::from_errno(error.raw_os_error().unwrap_or_default());
    let program_is = |what: &str| format!("{} {what}", program.display());
    let cause = match kind {
        StartErrorKind::NotFound => bad_folder(request.cwd).unwrap_or_else(|| {
            if fs::symlink_metadata(program).is_err() {
                program_is("does not exist")
            } else if let Some(interpreter) = shebang(program) {
                program_is(&format!(
                    "names an interpreter that does not exist: {interpreter}"
                ))
            } else {
                program_is("points to nothing, or its loader does not exist")
            }
        }),
        StartErrorKind::Denied => match fs::metadata(program) {
            Ok(found) if found.is_dir() => program_is("is a folder"),
            Ok(found) if found.permissions().mode() & 0o111 == 0 => {
                program_is("has no execute permission (chmod +x)")
            }
            _ => format!(
                "{} may not be executed in {}",
                program.display(),
                request.cwd.display()
            ),
        },
        StartErrorKind::TooBig => {
            let size: usize = request.args.iter().map(|arg| arg.len() + 1).sum();
            format!("the arguments ({size} bytes) and the environment are larger than the kernel takes")
        }
        StartErrorKind::Other(_) => bad_folder(request.cwd).unwrap_or_else(|| program_is(&error.to_string())),
    };
    StartError { kind, cause }
}

fn bad_folder(cwd: &Path) -> Option<String> {
    match fs::metadata(cwd) {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some(format!("the working directory {} is not a folder", cwd.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Some(format!("the working directory {} does not exist", cwd.display()))
        }
        Err(error) => Some(format!("the working directory {}: {error}", cwd.display())),
    }
}

fn shebang(program: &Path) -> Option<String> {
    let mut start = Vec::new();
    fs::File::open(program)
        .ok()?
        .take(SHEBANG_LENGTH)
        .read_to_end(&mut start)
        .ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).trim().to_owned())
}
