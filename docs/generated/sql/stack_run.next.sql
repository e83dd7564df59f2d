-- stack_run.next
-- $1 name, $2 workspace, $3 labels, $4 param_2
SELECT locktender.stack_run.id
FROM locktender.stack_run
WHERE locktender.stack_run.runner_group = $1::VARCHAR AND locktender.stack_run.status = 'pending' AND
    locktender.stack_run.workspace = $2::VARCHAR AND (locktender.stack_run.labels <@ CAST($3::JSONB AS JSONB)) ORDER
    BY locktender.stack_run.prioritized_at ASC NULLS LAST, locktender.stack_run.created_at, locktender.stack_run.id
LIMIT $4::INTEGER FOR UPDATE SKIP LOCKED;
