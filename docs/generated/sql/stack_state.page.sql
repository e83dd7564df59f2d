-- stack_state.page
-- $1 stack_id, $2 before, $3 before_id, $4 most
SELECT locktender.stack_state.id, locktender.stack_state.stack_id, locktender.stack_state.serial,
    locktender.stack_state.lineage, locktender.stack_state.object_key, locktender.stack_state.sha256,
    locktender.stack_state.size, locktender.stack_state.origin, locktender.stack_state.run_id,
    locktender.stack_state.epoch, locktender.stack_state.created_by, locktender.stack_state.created_at
FROM locktender.stack_state
WHERE locktender.stack_state.stack_id = $1::UUID AND ($2::TIMESTAMP WITH TIME ZONE IS NULL OR
    locktender.stack_state.created_at < $2::TIMESTAMP WITH TIME ZONE OR locktender.stack_state.created_at =
    $2::TIMESTAMP WITH TIME ZONE AND locktender.stack_state.id < $3::UUID) ORDER BY locktender.stack_state.created_at
    DESC, locktender.stack_state.id DESC
LIMIT $4::INTEGER;
