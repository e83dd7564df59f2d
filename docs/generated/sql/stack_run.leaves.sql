-- stack_run.leaves
-- $1 ids
SELECT locktender.stack_run.id, locktender.stack_run.stack_id, locktender.stack_run.plan_removed_at IS NULL AS plan,
    locktender.stack_run.artifacts_removed_at IS NULL AS record
FROM locktender.stack_run
WHERE locktender.stack_run.id = any($1::UUID[]);
