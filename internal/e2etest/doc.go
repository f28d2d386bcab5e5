// Package e2etest holds tests of the whole, as its users see it. It has no code that a
// program links.
package e2etest
