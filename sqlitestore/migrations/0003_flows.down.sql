DROP TABLE braid_outbox;
DROP TABLE braid_child_requests;
DROP TABLE braid_children;
DROP TABLE braid_flows;
