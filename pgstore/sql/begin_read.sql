-- All queries of one read see one state of the database.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
