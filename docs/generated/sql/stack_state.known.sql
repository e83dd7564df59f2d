-- stack_state.known
-- $1 ids
SELECT locktender.stack_state.id, locktender.stack_state.stack_id
FROM locktender.stack_state
WHERE locktender.stack_state.id = any($1::UUID[]);
