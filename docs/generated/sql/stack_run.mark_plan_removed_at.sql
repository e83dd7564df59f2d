-- stack_run.mark_plan_removed_at
-- $1 ids
UPDATE locktender.stack_run SET plan_removed_at=locktender.now() WHERE locktender.stack_run.id = any($1::UUID[]) AND
    locktender.stack_run.plan_removed_at IS NULL AND locktender.stack_run.status IN ('success', 'failure',
    'cancelled', 'timed_out', 'startup_timeout', 'discarded') RETURNING locktender.stack_run.id;
