// Command braid is the tool of the job system Braid; braid help tells what it does.
package main

import (
	"os"

	"github.com/braidmq/braid/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
