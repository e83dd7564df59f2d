-- stack_runner_group.used_by
-- $1 workspace, $2 name, $3 param_1
SELECT locktender.stack.name
FROM locktender.stack
WHERE locktender.stack.workspace = $1::VARCHAR AND locktender.stack.runner_group = $2::VARCHAR AND
    locktender.stack.deleted_at IS NULL ORDER BY locktender.stack.name
LIMIT $3::INTEGER;
