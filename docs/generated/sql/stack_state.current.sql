-- stack_state.current
-- $1 stack_id
SELECT locktender.stack_state.id, locktender.stack_state.stack_id, locktender.stack_state.serial,
    locktender.stack_state.lineage, locktender.stack_state.object_key, locktender.stack_state.sha256,
    locktender.stack_state.size, locktender.stack_state.origin, locktender.stack_state.run_id,
    locktender.stack_state.epoch, locktender.stack_state.created_by, locktender.stack_state.created_at
FROM locktender.stack_state JOIN locktender.stack ON locktender.stack.state_version_id = locktender.stack_state.id
WHERE locktender.stack.id = $1::UUID AND locktender.stack.deleted_at IS NULL;
