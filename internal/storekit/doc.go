// Package storekit holds what stores do alike above their databases: check options, cut
// batches into chunks, tell refusals from failures, and wake those who wait. Only the
// reference store, which is read and compared as a whole, has its own.
package storekit
