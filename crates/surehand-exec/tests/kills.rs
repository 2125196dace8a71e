//! Whichever process is killed, nothing of a run is left.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// Forks twice into sessions of its own, ignores every polite signal, and notes each process.
const STUBBORN: &str = r#"
trap '' TERM HUP INT QUIT
echo $$ >> pids
setsid sh -c 'trap "" TERM HUP INT QUIT; echo $$ >> pids
    (setsid sh -c "trap \"\" TERM HUP; echo \$\$ >> pids; while :; do sleep 1; done" &)
    while :; do sleep 1; done' > /dev/null 2>&1 < /dev/null &
touch ready
while :; do sleep 1; done
"#;

struct Tree {
    server: Child,
    spawner: i32,
    reaper: i32,
}

fn start(folder: &Path) -> Tree {
    fs::write(folder.join("stubborn.sh"), STUBBORN).unwrap();
    let server = Command::new(env!("CARGO_BIN_EXE_surehand-exec"))
        .args(["sh", "stubborn.sh"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while fs::read_to_string(folder.join("pids"))
        .unwrap_or_default()
        .lines()
        .count()
        < 3
    {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "the script did not come up"
        );
        sleep(Duration::from_millis(20));
    }
    let parents = parents();
    let script: i32 = fs::read_to_string(folder.join("pids"))
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let reaper = parents[&script];
    let spawner = parents[&reaper];
    assert_eq!(parents[&spawner], i32::try_from(server.id()).unwrap());
    Tree {
        server,
        spawner,
        reaper,
    }
}

fn parents() -> HashMap<i32, i32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let parent = stat[stat.rfind(')')? + 2..].split(' ').nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect()
}

fn living(folder: &Path) -> Vec<String> {
    fs::read_to_string(folder.join("pids"))
        .unwrap()
        .lines()
        .filter(|pid| {
            fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| !stat[stat.rfind(')').unwrap()..].starts_with(") Z"))
        })
        .map(ToOwned::to_owned)
        .collect()
}

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn nothing_is_left_after(victims: impl Fn(&Tree) -> Vec<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let mut tree = start(folder.path());
    assert_eq!(living(folder.path()).len(), 3);
    for victim in victims(&tree) {
        kill(victim, Signal::KILL);
    }
    let left = until_dead(folder.path());
    for pid in &left {
        // Whatever the fault is, the test leaves nothing behind.
        kill(pid.parse().unwrap(), Signal::KILL);
    }
    assert_eq!(left, Vec::<String>::new());
    let _ = tree.server.kill();
    let _ = tree.server.wait();
}

/// What still lives two seconds later.
fn until_dead(folder: &Path) -> Vec<String> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) && !living(folder).is_empty() {
        sleep(Duration::from_millis(20));
    }
    living(folder)
}

fn pid(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap()
}

#[test]
fn after_the_server_was_killed() {
    nothing_is_left_after(|tree| vec![pid(&tree.server)]);
}

#[test]
fn after_the_spawner_was_killed() {
    nothing_is_left_after(|tree| vec![tree.spawner]);
}

#[test]
fn after_the_reaper_was_killed() {
    nothing_is_left_after(|tree| vec![tree.reaper]);
}

#[test]
fn after_server_and_spawner_were_killed_together() {
    nothing_is_left_after(|tree| vec![tree.spawner, pid(&tree.server)]);
}

#[test]
fn after_server_and_reaper_were_killed_together() {
    nothing_is_left_after(|tree| vec![tree.reaper, pid(&tree.server)]);
}

#[test]
fn after_the_server_was_killed_while_spawner_and_reaper_were_stopped() {
    nothing_is_left_after(|tree| {
        kill(tree.spawner, Signal::STOP);
        kill(tree.reaper, Signal::STOP);
        vec![pid(&tree.server)]
    });
}

#[test]
fn the_polite_signals_of_a_terminal_do_not_reach_spawner_and_reaper() {
    let folder = tempfile::tempdir().unwrap();
    let mut tree = start(folder.path());
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        kill(tree.spawner, signal);
        kill(tree.reaper, signal);
    }
    sleep(Duration::from_millis(300));
    assert_eq!(living(folder.path()).len(), 3, "the run must go on");
    kill(pid(&tree.server), Signal::KILL);
    sleep(Duration::from_secs(2));
    assert_eq!(living(folder.path()), Vec::<String>::new());
    tree.server.wait().unwrap();
}
