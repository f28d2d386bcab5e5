// Package archtest holds the tests that keep the code's structure: which package may
// import which, how long a file may be, and that no marker of unfinished work stays.
// It has no code that a program links.
package archtest
