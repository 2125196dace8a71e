//! The store and the history as the other crates see them.

#![cfg(unix)]

/// Checks of what every store must do, whatever it is made of. Each takes the trait and nothing else: a store
/// of another kind runs them all by one more module here.
macro_rules! checks {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test]
                async fn $name() {
                    let dir = tempfile::tempdir().unwrap();
                    super::$name(&crate::support::open(dir.path()).await).await;
                }
            )+
        }
    };
}

mod approvals;
mod conformance;
mod history;
mod lists;
mod processes;
mod retention;
mod scale;
mod sqlite;
mod support;
