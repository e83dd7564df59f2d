-- stack_run.renew_all
-- $1 id, $2 epoch
UPDATE locktender.stack_run SET lease_expires_at=(locktender.now() + (locktender.stack_run.lease_seconds *
    make_interval(secs=>1.0))) FROM unnest($1::UUID[], $2::BIGINT[]) AS held(id, epoch) WHERE locktender.stack_run.id
    = held.id AND locktender.stack_run.lease_epoch = held.epoch AND locktender.stack_run.status IN ('running',
    'requested_cancellation', 'cancelling') RETURNING locktender.stack_run.id, locktender.stack_run.lease_epoch,
    locktender.stack_run.status;
