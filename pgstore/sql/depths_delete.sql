DELETE FROM @depths WHERE minute <= $1::bigint;
