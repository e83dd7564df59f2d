-- stack_run.log_end
-- $1 id
SELECT locktender.stack_run.id, locktender.stack_run.workspace, locktender.stack_run.stack_id,
    locktender.stack_run.status, locktender.stack_run.log_end, locktender.stack_run.log_cut,
    locktender.stack_run.artifacts_removed_at
FROM locktender.stack_run
WHERE locktender.stack_run.id = $1::UUID;
