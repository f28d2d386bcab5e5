// Package migrate keeps the schema of a SQL store at a version: it reads numbered
// migrations from files, holds them against what a database says was applied, and
// plans and runs what is missing. It knows no database: an [Executor] does.
//
// A migration is a pair of files, NNNN_name.up.sql and NNNN_name.down.sql. Numbers
// count from 0001 without gaps. A migration that has been released never changes;
// the hash of its up file, which the database keeps, shows it if one did.
package migrate
