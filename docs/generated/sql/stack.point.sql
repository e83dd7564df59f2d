-- stack.point
-- $1 version_id, $2 lineage, $3 serial, $4 stack_id
UPDATE locktender.stack SET state_version_id=$1::UUID, state_lineage=$2::VARCHAR, state_serial=$3::BIGINT WHERE
    locktender.stack.id = $4::UUID RETURNING locktender.stack.id;
