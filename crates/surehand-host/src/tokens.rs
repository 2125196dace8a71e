//! One-time tokens for calls that are repeated to be confirmed.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use uuid::Uuid;

/// How long a token may be used.
pub(crate) const TOKEN_LIFE: Duration = Duration::from_mins(5);
/// How many unused tokens are kept; the oldest goes first.
const MOST_TOKENS: usize = 1_024;

/// The tokens that were given out and not yet used.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    unused: Mutex<HashMap<String, Bound>>,
}

/// What a token is good for.
#[derive(Debug)]
struct Bound {
    principal: String,
    digest: String,
    until: Instant,
}

/// Why a token is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("confirmToken is unknown, was used already or is older than five minutes")]
    NotGood,
    #[error("confirmToken belongs to another call: the arguments must be the same as in the first call")]
    OtherCall,
}

impl Tokens {
    /// A new token, good once, for this principal and digest.
    pub(crate) fn issue(&self, principal: &str, digest: &str) -> String {
        self.issue_at(principal, digest, Instant::now())
    }

    fn issue_at(&self, principal: &str, digest: &str, now: Instant) -> String {
        let token = new_token();
        let mut unused = self.lock();
        unused.retain(|_, bound| bound.until > now);
        if unused.len() >= MOST_TOKENS
            && let Some(oldest) = unused
                .iter()
                .min_by_key(|(_, bound)| bound.until)
                .map(|(token, _)| token.clone())
        {
            unused.remove(&oldest);
        }
        let bound = Bound {
            principal: principal.to_owned(),
            digest: digest.to_owned(),
            until: now + TOKEN_LIFE,
        };
        unused.insert(token.clone(), bound);
        token
    }

    /// Uses a token up, rightly or wrongly.
    pub(crate) fn redeem(&self, token: &str, principal: &str, digest: &str) -> Result<(), TokenError> {
        self.redeem_at(token, principal, digest, Instant::now())
    }

    fn redeem_at(&self, token: &str, principal: &str, digest: &str, now: Instant) -> Result<(), TokenError> {
        let bound = self.lock().remove(token).ok_or(TokenError::NotGood)?;
        if bound.until <= now || bound.principal != principal {
            return Err(TokenError::NotGood);
        }
        if bound.digest != digest {
            return Err(TokenError::OtherCall);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Bound>> {
        // Each change under the lock is whole by itself.
        self.unused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 122 random bits from the operating system (a UUID version 4), as 32 hexadecimal digits.
fn new_token() -> String {
    Uuid::new_v4().simple().to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{MOST_TOKENS, TOKEN_LIFE, TokenError, Tokens};

    #[test]
    fn a_token_is_good_once() {
        let tokens = Tokens::default();
        let token = tokens.issue("ada", "d1");
        assert_eq!(tokens.redeem(&token, "ada", "d1"), Ok(()));
        assert_eq!(tokens.redeem(&token, "ada", "d1"), Err(TokenError::NotGood));
    }

    #[test]
    fn a_token_is_good_for_its_call_and_caller_only() {
        let tokens = Tokens::default();
        let token = tokens.issue("ada", "d1");
        assert_eq!(tokens.redeem(&token, "ada", "d2"), Err(TokenError::OtherCall));
        assert_eq!(tokens.redeem(&token, "ada", "d1"), Err(TokenError::NotGood));
        let token = tokens.issue("ada", "d1");
        assert_eq!(tokens.redeem(&token, "bob", "d1"), Err(TokenError::NotGood));
    }

    #[test]
    fn a_token_ends_after_five_minutes() {
        let tokens = Tokens::default();
        let then = Instant::now();
        let token = tokens.issue_at("ada", "d", then);
        let late = then + TOKEN_LIFE;
        assert_eq!(
            tokens.redeem_at(&token, "ada", "d", late),
            Err(TokenError::NotGood)
        );
        let token = tokens.issue_at("ada", "d", then);
        let just = late.checked_sub(Duration::from_millis(1)).unwrap();
        assert_eq!(tokens.redeem_at(&token, "ada", "d", just), Ok(()));
    }

    #[test]
    fn a_flood_of_first_calls_does_not_fill_memory() {
        let tokens = Tokens::default();
        let first = tokens.issue("ada", "d");
        let last = (0..MOST_TOKENS).map(|_| tokens.issue("ada", "d")).last().unwrap();
        assert_eq!(tokens.lock().len(), MOST_TOKENS);
        assert_eq!(tokens.redeem(&first, "ada", "d"), Err(TokenError::NotGood));
        assert_eq!(tokens.redeem(&last, "ada", "d"), Ok(()));
    }
}
