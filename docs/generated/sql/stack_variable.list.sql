-- stack_variable.list
-- $1 stack_id, $2 param_1
SELECT locktender.stack_variable.kind, locktender.stack_variable.name, locktender.stack_variable.value,
    locktender.stack_variable.sealed IS NOT NULL AS sensitive, locktender.stack_variable.updated_by,
    locktender.stack_variable.updated_at
FROM locktender.stack_variable
WHERE locktender.stack_variable.stack_id = $1::UUID ORDER BY locktender.stack_variable.kind,
    locktender.stack_variable.name
LIMIT $2::INTEGER;
