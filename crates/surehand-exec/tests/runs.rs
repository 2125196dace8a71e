//! What runs give, and that they end in time.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use surehand_exec::{
    Command, Confinement, Ended, Executor, ExecutorConfig, Finished, Limits, Run, StartErrorKind, Stdin,
    Stream,
};

fn executor() -> Executor {
    let mut config = ExecutorConfig::default();
    config.spawner = Some(env!("CARGO_BIN_EXE_surehand-exec").into());
    Executor::new(config)
}

fn sh(script: &str) -> Run {
    sh_in(Path::new("/"), script)
}

fn sh_in(cwd: &Path, script: &str) -> Run {
    Run::new(
        Command {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: cwd.into(),
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            stdin: Stdin::Null,
            confinement: None,
        },
        Limits::default(),
    )
}

fn program(path: &Path) -> Run {
    let mut run = sh("");
    run.command.program = path.into();
    run.command.args.clear();
    run
}

async fn finish(run: Run) -> Finished {
    executor().run(run).await.unwrap()
}

/// Whether a process is there and more than a zombie.
fn alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat[stat.rfind(')').unwrap()..].starts_with(") Z"))
}

fn gone(file: &Path) -> bool {
    let pids = fs::read_to_string(file).unwrap();
    assert!(!pids.trim().is_empty(), "the script wrote no process id");
    pids.lines().all(|pid| !alive(pid))
}

#[tokio::test]
async fn a_run_gives_both_streams_and_the_exit_code() {
    let finished = finish(sh("echo out; echo err >&2; exit 3")).await;
    assert_eq!(finished.ended, Ended::Exited(3));
    assert_eq!(
        (finished.stdout.text.as_str(), finished.stderr.text.as_str()),
        ("out\n", "err\n")
    );
    assert_eq!(finished.stdout.inline.as_deref(), Some(&b"out\n"[..]));
    assert!(!finished.timed_out && !finished.cancelled && finished.left_behind == 0);
    assert!(finished.duration < Duration::from_secs(1));
}

#[tokio::test]
async fn fault_11_a_signalled_command_did_start() {
    assert_eq!(finish(sh("kill -9 $$")).await.ended, Ended::Signaled(9));
}

#[tokio::test]
async fn runs_share_a_spawner_and_go_on_side_by_side() {
    let executor = executor();
    let begun = Instant::now();
    let runs = (0..40).map(|number| {
        let executor = executor.clone();
        tokio::spawn(async move {
            executor
                .run(sh(&format!("sleep 0.2; echo {number}")))
                .await
                .unwrap()
        })
    });
    for (number, run) in runs.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(run.await.unwrap().stdout.text, format!("{number}\n"));
    }
    assert!(begun.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn the_environment_is_exactly_what_is_given_without_our_own_variables() {
    let mut run = sh("env | sort; echo \"args: $0\"");
    run.command.env.push(("A".into(), "b=c".into()));
    run.command.env.push(("SUREHAND_KEY".into(), "secret".into()));
    let text = finish(run).await.stdout.text;
    assert_eq!(
        text,
        "A=b=c\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=/\nargs: sh\n"
    );
}

#[tokio::test]
async fn standard_input_is_empty_or_what_is_given() {
    assert_eq!(finish(sh("cat; echo end")).await.stdout.text, "end\n");
    let mut run = sh("cat");
    run.command.stdin = Stdin::Bytes(b"given".to_vec());
    assert_eq!(finish(run).await.stdout.text, "given");
}

#[tokio::test]
async fn signals_are_neither_blocked_nor_ignored_in_the_command() {
    let text = finish(sh("grep -E '^Sig(Blk|Ign):' /proc/self/status"))
        .await
        .stdout
        .text;
    for line in text.lines() {
        let mask = u64::from_str_radix(line.split_whitespace().next_back().unwrap(), 16).unwrap();
        // Those from 32 on are the C library's own.
        assert_eq!(mask & 0x7fff_ffff, 0, "{text}");
    }
}

#[tokio::test]
async fn no_descriptor_leaks_into_the_command() {
    let text = finish(sh("ls /proc/self/fd | wc -l")).await.stdout.text;
    // The three standard ones and the one by which ls reads the folder.
    assert_eq!(text.trim(), "4");
}

#[tokio::test]
async fn fault_14_a_failed_start_names_the_precise_cause() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let plain = file("plain.sh", "echo hi\n", 0o644);
    let bad = file("bad", "#!/no/such/interpreter -x\n", 0o755);
    let mut gone = sh("true");
    gone.command.cwd = folder.path().join("gone");
    let mut nameless = sh("true");
    nameless.command.program = "no-such-program".into();
    let mut large = sh("true");
    large.command.args = vec!["x".repeat(100_000).into(); 40];
    for (run, kind, cause) in [
        (
            program(&plain),
            StartErrorKind::Denied,
            "has no execute permission",
        ),
        (
            program(&bad),
            StartErrorKind::NotFound,
            "interpreter that does not exist: /no/such/interpreter -x",
        ),
        (
            program(&folder.path().join("none")),
            StartErrorKind::NotFound,
            "none does not exist",
        ),
        (gone, StartErrorKind::NotFound, "the working directory"),
        (
            nameless,
            StartErrorKind::NotFound,
            "no-such-program was not found in PATH",
        ),
        (large, StartErrorKind::TooBig, "larger than the kernel takes"),
        (program(folder.path()), StartErrorKind::Denied, "is a folder"),
    ] {
        let Ended::NotStarted(error) = finish(run).await.ended else {
            panic!("it started");
        };
        assert_eq!(error.kind, kind);
        assert!(error.cause.contains(cause), "{} lacks {cause:?}", error.cause);
    }
}

#[tokio::test]
async fn a_text_file_without_an_interpreter_line_is_run_by_sh() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script");
    fs::write(&path, "echo hi $1\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut run = program(&path);
    run.command.args = vec!["there".into()];
    assert_eq!(finish(run).await.stdout.text, "hi there\n");
}

#[tokio::test]
async fn impossible_commands_are_refused() {
    let mut run = sh("true");
    run.command.env.push(("A=B".into(), "c".into()));
    assert!(
        executor()
            .run(run)
            .await
            .unwrap_err()
            .to_string()
            .contains("\"A=B\"")
    );
    let mut run = sh("true");
    run.command.cwd = "relative".into();
    assert!(
        executor()
            .run(run)
            .await
            .unwrap_err()
            .to_string()
            .contains("not absolute")
    );
    assert!(executor().run(sh("a\0b")).await.is_err());
}

#[tokio::test]
async fn fault_01_and_02_a_timeout_kills_the_whole_tree_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = sh_in(
        folder.path(),
        // A plain child, one that ignores everything in a session of its own, one that has closed its streams.
        "echo before; sleep 60 & echo $! >> pids
         setsid sh -c 'trap \"\" TERM HUP INT; echo $$ >> pids; (sleep 61 & echo $! >> pids); sleep 62' &
         sleep 63 > /dev/null 2>&1 < /dev/null & echo $! >> pids
         wait; sleep 64",
    );
    run.limits.timeout = Duration::from_secs(1);
    let begun = Instant::now();
    let finished = finish(run).await;
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "took {:?}",
        begun.elapsed()
    );
    assert!(finished.timed_out);
    assert_eq!(finished.stdout.text, "before\n");
    assert!(gone(&folder.path().join("pids")));
}

#[tokio::test]
async fn a_command_may_clean_up_when_its_time_is_over() {
    let mut run = sh("trap 'echo cleaned; exit 0' TERM; echo before; while :; do sleep 0.05; done");
    run.limits.timeout = Duration::from_millis(300);
    let finished = finish(run).await;
    assert_eq!(
        (finished.timed_out, finished.stdout.text.as_str()),
        (true, "before\ncleaned\n")
    );
    assert!(finished.duration < Duration::from_secs(1));
}

#[tokio::test]
async fn fault_03_a_background_child_delays_no_answer_and_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let finished = finish(sh_in(folder.path(), "sleep 60 & echo $! > pids; echo done")).await;
    assert!(
        begun.elapsed() < Duration::from_millis(1500),
        "took {:?}",
        begun.elapsed()
    );
    assert_eq!(finished.ended, Ended::Exited(0));
    assert_eq!(
        (finished.stdout.text.as_str(), finished.left_behind),
        ("done\n", 1)
    );
    assert!(gone(&folder.path().join("pids")));
}

#[tokio::test]
async fn a_child_that_ends_just_after_the_command_is_heard_out() {
    let finished = finish(sh("(sleep 0.05; echo late) & echo early")).await;
    assert_eq!(
        (finished.stdout.text.as_str(), finished.left_behind),
        ("early\nlate\n", 0)
    );
}

#[tokio::test]
async fn fault_05_a_withdrawn_run_is_dead_within_two_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let run = sh_in(
        folder.path(),
        "trap '' TERM; echo $$ > pids; setsid sleep 60 & echo $! >> pids; wait; sleep 60",
    );
    let cancel = run.cancel.clone();
    let running = tokio::spawn(finish(run));
    while !folder.path().join("pids").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let begun = Instant::now();
    cancel.cancel();
    assert!(running.await.unwrap().cancelled);
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert!(gone(&folder.path().join("pids")));
}

#[tokio::test]
async fn a_run_that_nobody_awaits_any_more_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let executor = executor();
    let mut run = Box::pin(executor.run(sh_in(folder.path(), "echo $$ > pids; sleep 60")));
    while !folder.path().join("pids").exists() {
        let _ = tokio::time::timeout(Duration::from_millis(10), &mut run).await;
    }
    drop(run);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(gone(&folder.path().join("pids")));
}

#[tokio::test]
async fn a_stranger_that_holds_the_pipe_delays_no_answer() {
    // The stranger is a process outside the tree that opened the pipe by its /proc name.
    let folder = tempfile::tempdir().unwrap();
    let run = sh_in(
        folder.path(),
        "echo $$ > pid; while ! [ -e held ]; do sleep 0.02; done; echo done",
    );
    let running = tokio::spawn(finish(run));
    let path = folder.path().join("pid");
    while fs::read_to_string(&path).unwrap_or_default().trim().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pid = fs::read_to_string(&path).unwrap();
    let _held = fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{}/fd/1", pid.trim()))
        .unwrap();
    let begun = Instant::now();
    fs::write(folder.path().join("held"), "").unwrap();
    assert_eq!(running.await.unwrap().stdout.text, "done\n");
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_spawner_that_was_killed_is_replaced() {
    let executor = executor();
    assert_eq!(executor.run(sh("echo 1")).await.unwrap().stdout.text, "1\n");
    let pid = executor.spawner_pid().await.unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(executor.run(sh("echo 2")).await.unwrap().stdout.text, "2\n");
}

#[tokio::test]
async fn lines_are_shown_as_they_come() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut run = sh("echo one; sleep 0.1; printf 'tw'; sleep 0.1; echo o; echo err >&2");
    run.lines = Some({
        let seen = Arc::clone(&seen);
        Arc::new(move |stream, line: &str| seen.lock().unwrap().push((stream, line.to_owned())))
    });
    finish(run).await;
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_by_key(|(stream, _)| *stream == Stream::Stderr);
    assert_eq!(
        seen,
        [
            (Stream::Stdout, "one".to_owned()),
            (Stream::Stdout, "two".to_owned()),
            (Stream::Stderr, "err".to_owned())
        ]
    );
}

#[tokio::test]
async fn much_output_is_bounded_in_memory_and_kept_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = sh("head -c 100000000 /dev/zero | tr '\\0' x");
    run.folder = Some(folder.path().join("run"));
    run.limits.spool_bytes = 1 << 20;
    let finished = finish(run).await;
    assert_eq!(finished.stdout.text, "x".repeat(60_000));
    assert_eq!(finished.stdout.dropped_chars, 100_000_000 - 60_000);
    assert_eq!(
        (finished.stdout.total_bytes, finished.stdout.kept_bytes),
        (100_000_000, 1 << 20)
    );
    let spool = finished.stdout.spool.unwrap();
    assert_eq!(fs::metadata(spool).unwrap().len(), 1 << 20);
}

#[tokio::test]
async fn a_running_command_can_be_followed_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = sh("echo first; sleep 1");
    run.folder = Some(folder.path().join("run"));
    let running = tokio::spawn(finish(run));
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(
        fs::read_to_string(folder.path().join("run/stdout")).unwrap(),
        "first\n"
    );
    running.await.unwrap();
}

fn confined(folder: &Path, script: &str) -> Run {
    let mut run = sh_in(folder, script);
    run.command.confinement = Some(Confinement {
        read: vec![folder.join("in")],
        write: vec![folder.join("out")],
        network: false,
    });
    run
}

#[tokio::test]
async fn a_confined_command_reaches_only_what_it_may() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["in", "out"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("in/a"), "readable\n").unwrap();
    let secret = outside.path().join("secret");
    let script = format!(
        "cat in/a; echo x > out/b && echo written; echo x > in/b; cat {secret}; echo x > {secret}; mv out/b /tmp/; ls /home; \
         cat /proc/1/environ; kill -0 {pid} || echo 'no signal'",
        secret = secret.display(),
        pid = std::process::id()
    );
    let finished = finish(confined(folder.path(), &script)).await;
    assert_eq!(
        finished.stdout.text, "readable\nwritten\nno signal\n",
        "{}",
        finished.stderr.text
    );
    assert_eq!(fs::read_to_string(secret).unwrap(), "secret");
    assert!(!folder.path().join("in/b").exists());
}

#[tokio::test]
async fn a_confined_command_has_no_sockets() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["in", "out"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let perl = "perl -MSocket -e 'for my $f (AF_INET, AF_INET6, AF_UNIX) {
        print socket(my $s, $f, SOCK_STREAM, 0) ? \"socket\\n\" : \"$!\\n\" }'";
    let finished = finish(confined(folder.path(), perl)).await;
    assert_eq!(
        finished.stdout.text,
        "Permission denied\n".repeat(3),
        "{}",
        finished.stderr.text
    );
    let mut open = confined(folder.path(), perl);
    open.command.confinement.as_mut().unwrap().network = true;
    assert_eq!(finish(open).await.stdout.text, "socket\n".repeat(3));
}

#[tokio::test]
async fn a_confined_command_changes_nothing_about_files_and_processes_outside() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["in", "out"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let before = fs::metadata(&secret).unwrap().modified().unwrap();
    let script = format!(
        "chmod 666 {secret} 2>&1 | grep -c 'not permitted'; chown 1234 {secret} 2>&1 | grep -c 'not permitted'; \
         touch -d 2001-01-01 {secret} 2>&1 | grep -c denied; prlimit --pid {pid} --cpu=1 2>&1 | grep -ci 'not permitted'; \
         renice -n 5 -p {pid} 2>&1 | grep -c 'not permitted'; ulimit -t 50 && echo limited; touch out/new && echo touched",
        secret = secret.display(),
        pid = std::process::id()
    );
    let finished = finish(confined(folder.path(), &script)).await;
    assert_eq!(
        finished.stdout.text, "1\n1\n1\n1\n1\nlimited\ntouched\n",
        "{}",
        finished.stderr.text
    );
    let after = fs::metadata(&secret).unwrap();
    assert_eq!(
        (after.permissions().mode() & 0o777, after.modified().unwrap()),
        (0o600, before)
    );
}

#[tokio::test]
async fn a_command_that_stops_its_reaper_is_ended_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = sh_in(folder.path(), "echo $$ > pids; kill -STOP $PPID; sleep 40");
    run.limits.timeout = Duration::from_secs(1);
    let begun = Instant::now();
    let finished = finish(run).await;
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "took {:?}",
        begun.elapsed()
    );
    assert!(finished.timed_out && !finished.unconfirmed, "{finished:?}");
    assert!(gone(&folder.path().join("pids")));
}

#[tokio::test]
async fn a_command_that_stops_the_spawner_holds_up_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let executor = executor();
    let stop = "echo $$ > pids; kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat); sleep 40";
    let mut stopper = sh_in(folder.path(), stop);
    stopper.limits.timeout = Duration::from_secs(2);
    let stopping = {
        let executor = executor.clone();
        tokio::spawn(async move { executor.run(stopper).await.unwrap() })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    let others: Vec<_> = (0..8)
        .map(|_| {
            let executor = executor.clone();
            tokio::spawn(async move { executor.run(sh("sleep 0.1; echo ok")).await.unwrap() })
        })
        .collect();
    for other in others {
        assert_eq!(other.await.unwrap().stdout.text, "ok\n");
    }
    assert!(stopping.await.unwrap().timed_out);
    assert!(gone(&folder.path().join("pids")));
}

#[tokio::test]
async fn a_grant_does_not_follow_a_link_that_was_put_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    std::os::unix::fs::symlink("/tmp", folder.path().join("out")).unwrap();
    let Ended::NotStarted(error) = finish(confined(folder.path(), "echo x")).await.ended else {
        panic!("it started");
    };
    assert!(
        error.cause.contains("confine") || error.cause.contains("out"),
        "{error}"
    );
}

#[tokio::test]
async fn a_confined_command_shares_no_memory_without_a_path() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["in", "out"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let script = "perl -e 'print defined(shmget(0, 100, 01600)) ? \"shared\\n\" : \"$!\\n\";
        print defined(msgget(0, 01600)) ? \"queue\\n\" : \"$!\\n\"'";
    let finished = finish(confined(folder.path(), script)).await;
    assert_eq!(
        finished.stdout.text,
        "Operation not permitted\n".repeat(2),
        "{}",
        finished.stderr.text
    );
}

#[tokio::test]
async fn a_confined_command_makes_no_devices_and_sets_no_flags() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["in", "out"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("in/a"), "a").unwrap();
    let script = "mknod out/null c 1 3 2>/dev/null || echo 'no device'; mkfifo out/fifo && echo fifo; \
        perl -e 'open my $f, \"<\", \"in/a\" or die; my $v = pack(\"l\", 0x40); \
        print ioctl($f, 0x40086602, $v) ? \"set\\n\" : \"no flags\\n\"'";
    let finished = finish(confined(folder.path(), script)).await;
    assert_eq!(
        finished.stdout.text, "no device\nfifo\nno flags\n",
        "{}",
        finished.stderr.text
    );
}
