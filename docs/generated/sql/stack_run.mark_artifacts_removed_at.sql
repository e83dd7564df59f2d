-- stack_run.mark_artifacts_removed_at
-- $1 ids
UPDATE locktender.stack_run SET artifacts_removed_at=locktender.now() WHERE locktender.stack_run.id = any($1::UUID[])
    AND locktender.stack_run.artifacts_removed_at IS NULL AND locktender.stack_run.status IN ('success', 'failure',
    'cancelled', 'timed_out', 'startup_timeout', 'discarded') RETURNING locktender.stack_run.id;
