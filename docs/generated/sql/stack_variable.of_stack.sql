-- stack_variable.of_stack
-- $1 id
SELECT locktender.stack_variable.stack_id, locktender.stack_variable.kind, locktender.stack_variable.name,
    locktender.stack_variable.value, locktender.stack_variable.sealed, locktender.stack_variable.updated_by,
    locktender.stack_variable.updated_at
FROM locktender.stack_variable
WHERE locktender.stack_variable.stack_id = $1::UUID ORDER BY locktender.stack_variable.kind,
    locktender.stack_variable.name;
