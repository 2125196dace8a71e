//! The program on a terminal.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::Path,
    process::{Child, Command},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustix::{
    fs::OFlags,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use crate::{ran::named, until};

/// How long something may take to appear before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running program whose three streams are one terminal.
pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
    names: Vec<(String, &'static str)>,
}

impl Terminal {
    pub(crate) fn start(mut command: Command, names: Vec<(String, &'static str)>, columns: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be made");
        grantpt(&ours).expect("a terminal can be granted");
        unlockpt(&ours).expect("a terminal can be unlocked");
        let size = Winsize {
            ws_col: columns,
            ws_row: 24,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&ours, size).expect("a terminal has a size");
        let name = ptsname(&ours, Vec::new()).expect("a terminal has a name");
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        // The test itself must not get it as its controlling terminal.
        let flags = i32::try_from(OFlags::NOCTTY.bits()).expect("a flag");
        let theirs = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(flags)
                .open(path)
                .expect("a terminal can be opened")
        };
        let child = command
            .env("TERM", "xterm")
            .stdin(theirs())
            .stdout(theirs())
            .stderr(theirs())
            .spawn()
            .expect("the program starts");
        // The command keeps our copies of its end open, which would keep the screen from ending.
        drop(command);
        let keyboard = File::from(ours);
        let mut reader = keyboard.try_clone().expect("a file can be cloned");
        let screen = Arc::new(Mutex::new(Vec::new()));
        let filling = Arc::clone(&screen);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // Reading fails when the last process on the terminal has ended.
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                filling
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend_from_slice(&piece[..count]);
            }
        });
        Self {
            child,
            keyboard,
            screen,
            names,
        }
    }

    /// The program's process id.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Everything that was shown so far, escape sequences included.
    #[must_use]
    pub fn screen(&self) -> String {
        let screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        named(&String::from_utf8_lossy(&screen), &self.names)
    }

    /// Waits until this is shown.
    pub fn shows(&self, text: &str) {
        until(PATIENCE, || self.screen().contains(text).then_some(()))
            .unwrap_or_else(|| panic!("{text:?} is not shown: {:?}", self.screen()));
    }

    /// Types this and the return key.
    pub fn types(&mut self, text: &str) {
        writeln!(self.keyboard, "{text}").expect("the terminal takes input");
    }

    /// Types this and no return key.
    pub fn types_alone(&mut self, text: &str) {
        write!(self.keyboard, "{text}").expect("the terminal takes input");
    }

    /// Waits for the end. The exit code, and all that was shown.
    #[must_use]
    pub fn ended(mut self) -> (Option<i32>, String) {
        let status = until(PATIENCE, || {
            self.child.try_wait().expect("a child can be waited for")
        })
        .unwrap_or_else(|| panic!("the program does not end: {:?}", self.screen()));
        // What it wrote last may still be on its way.
        thread::sleep(Duration::from_millis(50));
        (status.code(), self.screen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
