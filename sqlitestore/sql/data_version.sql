-- Changes when another connection has committed.
PRAGMA data_version;
