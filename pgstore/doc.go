// Package pgstore keeps jobs in Postgres.
package pgstore
