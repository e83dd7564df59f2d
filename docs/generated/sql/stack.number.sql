-- stack.number
-- $1 last_number_1, $2 stack_id
UPDATE locktender.stack SET last_number=(locktender.stack.last_number + $1::BIGINT) WHERE locktender.stack.id =
    $2::UUID RETURNING locktender.stack.last_number;
