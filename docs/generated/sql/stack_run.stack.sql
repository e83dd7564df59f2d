-- stack_run.stack
-- $1 id
SELECT locktender.stack_run.stack_id
FROM locktender.stack_run
WHERE locktender.stack_run.id = $1::UUID;
