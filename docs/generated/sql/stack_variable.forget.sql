-- stack_variable.forget
-- $1 id
DELETE FROM locktender.stack_variable WHERE locktender.stack_variable.stack_id = $1::UUID RETURNING
    locktender.stack_variable.name;
