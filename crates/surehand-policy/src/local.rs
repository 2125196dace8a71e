//! The policy where nobody wrote one: the person at this machine may do everything, nobody else anything.

use surehand_core::{Action, Caller, Channel, Decision, Policy, Resource};

/// Decides by the way a call arrived. See [`authorise`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LocalPolicy;

impl Policy for LocalPolicy {
    fn authorise(&self, caller: &Caller, action: Action, resource: &Resource<'_>) -> Decision {
        authorise(caller, action, resource)
    }
}

/// Whether `caller` may do `action` to `resource` where no policy is configured.
///
/// A caller who started this process ([`Channel::Stdio`], [`Channel::CommandLine`],
/// [`Channel::InProcess`]) could do the same without Surehand and may do everything. A caller over
/// [`Channel::Http`] may do nothing: without a token nobody knows who it is.
#[must_use]
pub fn authorise(caller: &Caller, action: Action, resource: &Resource<'_>) -> Decision {
    match caller.channel {
        Channel::Stdio | Channel::CommandLine | Channel::InProcess => Decision::Allow,
        Channel::Http => Decision::Deny {
            reason: format!(
                "{} over HTTP may not {} {}: no token grants it",
                caller.principal,
                action.as_str(),
                named(resource)
            ),
        },
    }
}

fn named(resource: &Resource<'_>) -> String {
    match resource {
        Resource::Tool { name, .. } => format!("tool {name}"),
        Resource::History => "history".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use surehand_core::{Action, Caller, Channel, Decision, Policy, Resource};

    use super::LocalPolicy;

    const ACTIONS: [Action; 5] = [
        Action::See,
        Action::Run,
        Action::ReadHistory,
        Action::Cancel,
        Action::Approve,
    ];
    const RESOURCES: [Resource<'static>; 2] = [
        Resource::Tool {
            toolset: "runbooks",
            name: "deploy",
        },
        Resource::History,
    ];

    fn decisions(channel: Channel) -> Vec<Decision> {
        let caller = Caller::new("ada", channel);
        ACTIONS
            .iter()
            .flat_map(|action| {
                RESOURCES
                    .iter()
                    .map(|resource| LocalPolicy.authorise(&caller, *action, resource))
            })
            .collect()
    }

    #[test]
    fn whoever_started_the_process_may_do_everything() {
        for channel in [Channel::Stdio, Channel::CommandLine, Channel::InProcess] {
            assert!(
                decisions(channel)
                    .iter()
                    .all(|decision| *decision == Decision::Allow)
            );
        }
    }

    #[test]
    fn a_caller_over_http_may_do_nothing() {
        assert!(
            decisions(Channel::Http)
                .iter()
                .all(|decision| matches!(decision, Decision::Deny { .. }))
        );
    }

    #[test]
    fn the_reason_names_caller_action_and_tool() {
        let caller = Caller::new("ada", Channel::Http);
        assert_eq!(
            LocalPolicy.authorise(&caller, Action::Run, &RESOURCES[0]),
            Decision::Deny {
                reason: "ada over HTTP may not run tool deploy: no token grants it".to_owned()
            }
        );
    }
}
