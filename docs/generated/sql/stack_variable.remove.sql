-- stack_variable.remove
-- $1 stack_id, $2 kind, $3 name
DELETE FROM locktender.stack_variable WHERE locktender.stack_variable.stack_id = $1::UUID AND
    locktender.stack_variable.kind = $2::VARCHAR AND locktender.stack_variable.name = $3::VARCHAR RETURNING
    locktender.stack_variable.name;
