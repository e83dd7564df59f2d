-- stack_variable.rival
-- $1 stack_id, $2 kind_1, $3 rivals, $4 param_1
SELECT locktender.stack_variable.kind, locktender.stack_variable.name
FROM locktender.stack_variable
WHERE locktender.stack_variable.stack_id = $1::UUID AND (locktender.stack_variable.kind || $2::VARCHAR ||
    locktender.stack_variable.name) = any($3::TEXT[])
LIMIT $4::INTEGER;
