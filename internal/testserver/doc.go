// Package testserver starts the servers that tests and benchmarks need: real ones, on
// free ports of 127.0.0.1, in directories that are deleted afterwards. No server
// outlives the process that started it.
//
// A server that is not installed fails the test that asks for it; `make test` installs
// what is missing. A test is skipped only where somebody set BRAID_SKIP=redis,postgres by hand.
package testserver
