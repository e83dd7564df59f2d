-- stack_state.add
-- $1 id, $2 stack_id, $3 serial, $4 lineage, $5 object_key, $6 sha256, $7 size, $8 origin, $9 run_id, $10 epoch, $11
-- created_by
INSERT INTO locktender.stack_state (id, stack_id, serial, lineage, object_key, sha256, size, origin, run_id, epoch,
    created_by) VALUES ($1::UUID, $2::UUID, $3::BIGINT, $4::VARCHAR, $5::VARCHAR, $6::VARCHAR, $7::BIGINT,
    $8::VARCHAR, $9::UUID, $10::BIGINT, $11::VARCHAR) RETURNING locktender.stack_state.id,
    locktender.stack_state.stack_id, locktender.stack_state.serial, locktender.stack_state.lineage,
    locktender.stack_state.object_key, locktender.stack_state.sha256, locktender.stack_state.size,
    locktender.stack_state.origin, locktender.stack_state.run_id, locktender.stack_state.epoch,
    locktender.stack_state.created_by, locktender.stack_state.created_at;
