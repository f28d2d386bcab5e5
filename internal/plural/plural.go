// Package plural makes texts that count things read well for one of them too.
package plural

import "fmt"

type integer interface{ int | int32 | int64 }

// Of says how many things there are: "1 job", "0 jobs", "2 jobs".
func Of[N integer](n N, one, many string) string { return fmt.Sprintf("%d %s", n, Word(n, one, many)) }

// Word returns the word for n things.
func Word[N integer](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
