//! Reading runs.

use sqlx::{AssertSqlSafe, QueryBuilder, Row, Sqlite};
use surehand_core::{RunId, RunStatus, StreamName};

use super::{SqliteStore, row};
use crate::{MIN_PREFIX, Output, OutputContent, Page, RunFilter, RunRecord, StoreError, time};

/// How many candidates an ambiguous prefix names.
const CANDIDATES: usize = 10;
/// A run's id is made at most so long before the run is recorded.
const ID_LEAD: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

impl SqliteStore {
    /// For each status its own newest runs, through an index, then the newest of those: however rare a
    /// status is, nothing else is looked at.
    pub(super) async fn page(&self, filter: &RunFilter) -> Result<Page, StoreError> {
        let statuses = wanted(filter);
        if statuses.is_empty() {
            return Ok(Page {
                runs: Vec::new(),
                next: None,
            });
        }
        let limit = filter.limit.clamp(1, RunFilter::MAX_LIMIT);
        let fetched = i64::from(limit) + 1;
        let all = statuses.len() == RunStatus::ALL.len() && filter.tool.is_none();

        let mut query = QueryBuilder::<Sqlite>::new("SELECT ");
        query.push(row::SUMMARY_COLUMNS).push(" FROM runs WHERE id IN (");
        if all {
            push_newest(&mut query, filter, None, fetched);
        } else {
            for (index, status) in statuses.iter().enumerate() {
                query.push(if index == 0 {
                    "SELECT id FROM ("
                } else {
                    " UNION ALL SELECT id FROM ("
                });
                push_newest(&mut query, filter, Some(*status), fetched);
                query.push(")");
            }
            query.push(" ORDER BY id DESC LIMIT ").push_bind(fetched);
        }
        query.push(") ORDER BY id DESC");

        let mut connection = self.connection().await?;
        let rows = query
            .build()
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| self.trouble(&error))?;
        let mut runs = rows
            .iter()
            .map(row::summary)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| self.trouble(&error))?;
        let limit = limit as usize;
        let more = runs.len() > limit;
        runs.truncate(limit);
        let next = if more { runs.last().map(|run| run.id) } else { None };
        Ok(Page { runs, next })
    }

    pub(super) async fn record(&self, id: RunId) -> Result<Option<RunRecord>, StoreError> {
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let mut connection = self.connection().await?;
        let Some(found) = sqlx::query("SELECT * FROM runs WHERE id = ?1")
            .bind(id.as_text())
            .fetch_optional(&mut *connection)
            .await
            .map_err(trouble)?
        else {
            return Ok(None);
        };
        let approval = sqlx::query("SELECT * FROM approvals WHERE run_id = ?1")
            .bind(id.as_text())
            .fetch_optional(&mut *connection)
            .await
            .map_err(trouble)?
            .as_ref()
            .map(row::approval)
            .transpose()
            .map_err(trouble)?;
        // Standard output first.
        let outputs = sqlx::query(
            "SELECT stream, total_bytes, kept_bytes, sha256 FROM outputs WHERE run_id = ?1
             ORDER BY stream DESC",
        )
        .bind(id.as_text())
        .fetch_all(&mut *connection)
        .await
        .map_err(trouble)?
        .iter()
        .map(row::output)
        .collect::<Result<Vec<_>, _>>()
        .map_err(trouble)?;
        row::record(&found, approval, outputs).map(Some).map_err(trouble)
    }

    pub(super) async fn find_by_prefix(&self, prefix: &str) -> Result<RunRecord, StoreError> {
        let canonical = canonical_prefix(prefix)?;
        let mut ids = self.ids_with_prefix(&canonical).await?;
        match *ids.as_slice() {
            [] => Err(StoreError::NoSuchRun(prefix.trim().to_owned())),
            [id] => self
                .record(id)
                .await?
                .ok_or_else(|| StoreError::NoSuchRun(prefix.trim().to_owned())),
            _ => {
                let more = ids.len() > CANDIDATES;
                ids.truncate(CANDIDATES);
                Err(StoreError::Ambiguous {
                    prefix: prefix.trim().to_owned(),
                    candidates: ids,
                    more,
                })
            }
        }
    }

    async fn ids_with_prefix(&self, canonical: &str) -> Result<Vec<RunId>, StoreError> {
        let mut connection = self.connection().await?;
        // `g` sorts after every character of an id.
        let found: Vec<String> = sqlx::query_scalar(
            "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id DESC LIMIT ?2",
        )
        .bind(canonical)
        .bind(i64::try_from(CANDIDATES + 1).unwrap_or(i64::MAX))
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| self.trouble(&error))?;
        self.ids(&found)
    }

    pub(super) fn ids(&self, texts: &[String]) -> Result<Vec<RunId>, StoreError> {
        texts
            .iter()
            .map(|text| row::id(text))
            .collect::<Result<_, _>>()
            .map_err(|error| self.trouble(&error))
    }

    pub(super) async fn read_output(
        &self,
        id: RunId,
        stream: StreamName,
    ) -> Result<Option<Output>, StoreError> {
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let mut connection = self.connection().await?;
        let Some(found) = sqlx::query("SELECT * FROM outputs WHERE run_id = ?1 AND stream = ?2")
            .bind(id.as_text())
            .bind(stream.as_str())
            .fetch_optional(&mut *connection)
            .await
            .map_err(trouble)?
        else {
            return Ok(None);
        };
        let summary = row::output(&found).map_err(trouble)?;
        let content = if found.try_get("spooled").map_err(trouble)? {
            OutputContent::File(self.folders.join(id.as_text()).join(stream.as_str()))
        } else {
            let kept: Option<Vec<u8>> = found.try_get("inline").map_err(trouble)?;
            OutputContent::Inline(kept.unwrap_or_default())
        };
        Ok(Some(Output { summary, content }))
    }

    pub(super) async fn look_through(&self) -> Result<Vec<String>, StoreError> {
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let mut connection = self.connection().await?;
        let mut problems: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check(20)")
            .fetch_all(&mut *connection)
            .await
            .map_err(trouble)?;
        problems.retain(|line| line != "ok");
        let orphans = sqlx::query("PRAGMA foreign_key_check")
            .fetch_all(&mut *connection)
            .await
            .map_err(trouble)?;
        if !orphans.is_empty() {
            problems.push(format!("{} outputs or approvals belong to no run", orphans.len()));
        }
        let unended: i64 = sqlx::query_scalar(AssertSqlSafe(format!(
            "SELECT count(*) FROM runs WHERE (completed_at IS NULL) = (status IN ({}))",
            final_names()
        )))
        .fetch_one(&mut *connection)
        .await
        .map_err(trouble)?;
        if unended > 0 {
            problems.push(format!(
                "{unended} runs have a status that does not go with their end"
            ));
        }
        Ok(problems)
    }
}

fn final_names() -> String {
    let names: Vec<String> = RunStatus::ALL
        .iter()
        .filter(|status| status.is_final())
        .map(|status| format!("'{}'", status.as_str()))
        .collect();
    names.join(", ")
}

fn wanted(filter: &RunFilter) -> Vec<RunStatus> {
    RunStatus::ALL
        .into_iter()
        .filter(|status| filter.statuses.is_empty() || filter.statuses.contains(status))
        .filter(|status| !filter.failed_only || matches!(status, RunStatus::Failed | RunStatus::TimedOut))
        .collect()
}

fn push_newest(query: &mut QueryBuilder<Sqlite>, filter: &RunFilter, status: Option<RunStatus>, limit: i64) {
    query.push("SELECT id FROM runs WHERE 1");
    if let Some(status) = status {
        query.push(" AND status = ").push_bind(status.as_str());
    }
    if let Some(tool) = &filter.tool {
        query.push(" AND tool = ").push_bind(tool.clone());
    }
    if let Some(before) = filter.before {
        query.push(" AND id < ").push_bind(before.as_text());
    }
    if let Some(since) = filter.since {
        // The id bounds how far back the index is walked; the time itself decides.
        query
            .push(" AND id >= ")
            .push_bind(time::least_id(time::before(since, ID_LEAD)))
            .push(" AND created_at >= ")
            .push_bind(time::to_text(since));
    }
    query.push(" ORDER BY id DESC LIMIT ").push_bind(limit);
}

/// Lower case, dashes where an id has them.
fn canonical_prefix(prefix: &str) -> Result<String, StoreError> {
    let digits: String = prefix.trim().chars().filter(|&c| c != '-').collect();
    if digits.len() < MIN_PREFIX || digits.len() > 32 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return Err(StoreError::BadPrefix(prefix.to_owned()));
    }
    let mut canonical = String::with_capacity(36);
    for (index, digit) in digits.chars().enumerate() {
        if matches!(index, 8 | 12 | 16 | 20) {
            canonical.push('-');
        }
        canonical.push(digit.to_ascii_lowercase());
    }
    Ok(canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_may_be_written_as_one_likes() {
        let canonical = |text: &str| canonical_prefix(text).map_err(|error| error.to_string());
        assert_eq!(canonical("0193").unwrap(), "0193");
        assert_eq!(canonical(" 0193A1B2C ").unwrap(), "0193a1b2-c");
        assert_eq!(canonical("0193a1b2-").unwrap(), "0193a1b2");
        let whole = "0193a1b2-c3d4-7e5f-8a6b-0123456789ab";
        assert_eq!(canonical(whole).unwrap(), whole);
        assert_eq!(canonical(&whole.replace('-', "")).unwrap(), whole);
        for bad in [
            "",
            "019",
            "0-1-9",
            "019g",
            "01 93",
            "0193%",
            "０１９３",
            &format!("{whole}0"),
        ] {
            assert!(canonical(bad).unwrap_err().contains("at least 4"), "{bad}");
        }
    }
}
