package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// module is the path that every package of Braid begins with.
const module = "github.com/braidmq/braid"

// layer says what the packages of one place may import. Paths of Braid's own packages
// are relative to the module; "." is the root package. A path that ends in /... means
// itself and everything below. The standard library is open to all.
type layer struct {
	packages string
	own      []string // packages of Braid
	modules  []string // other modules, by the beginning of their path
	why      string
}

// layers is the table of ARCHITECTURE.md. The first entry that matches a package
// counts. A package that no entry matches is refused: it needs a place first.
var layers = []layer{
	{packages: "driver", why: "the seam leans on nothing but the standard library"},

	{packages: "memstore", own: []string{"driver"}, modules: []string{"github.com/tidwall/btree"},
		why: "a store knows the seam and its own data structure"},
	{packages: "sqlitestore/...", own: []string{"driver", "sqlitestore/...", "internal/migrate", "internal/rowcodec", "internal/storekit"},
		modules: []string{"modernc.org/", "zombiezen.com/go/sqlite", "github.com/ncruces/go-sqlite3"},
		why:     "a store knows the seam and its own database library"},
	{packages: "pgstore/...", own: []string{"driver", "pgstore/...", "internal/migrate", "internal/rowcodec", "internal/storekit"},
		modules: []string{"github.com/jackc/pgx/"},
		why:     "a store knows the seam and its own database library"},
	{packages: "redisstore/...", own: []string{"driver", "redisstore/...", "internal/storekit"},
		modules: []string{"github.com/redis/go-redis/"},
		why:     "a store knows the seam and its own database library"},
	{packages: "internal/storekit", own: []string{"driver"}, why: "what stores do alike above their databases"},
	{packages: "internal/migrate", own: []string{"driver"}, why: "what the SQL stores share"},
	{packages: "internal/rowcodec", own: []string{"driver"}, why: "what the SQL stores share"},

	{packages: "internal/plural", why: "words for numbers"},
	{packages: "internal/engine", own: []string{"driver", "internal/plural"}, why: "the worker's runtime sees any store through the seam"},
	{packages: "internal/cron", own: []string{"driver", "internal/plural"}, why: "times of schedules"},
	{packages: "internal/maintain", own: []string{"driver", "internal/cron"}, why: "the sweeps see any store through the seam"},

	{packages: "internal/flow", own: []string{"driver"}, why: "the relay and the sweep see any stores through the seam"},
	{packages: "internal/flowcheck", own: []string{"driver", "internal/flow", "internal/plural"}, why: "the checker sees any stores through the seam"},

	{packages: ".", own: []string{"driver", "internal/engine", "internal/maintain", "internal/cron", "internal/flow", "internal/plural"},
		modules: []string{"go.opentelemetry.io/otel"},
		why:     "the library never names a store"},

	{packages: "httpapi", own: []string{"."}, why: "it goes through *braid.Client, never around it"},
	{packages: "dashboard", own: []string{".", "internal/plural"}, why: "it goes through *braid.Client, never around it"},

	{packages: "drivertest/...", own: []string{"driver", "drivertest/...", "memstore", "internal/faultstore"},
		modules: []string{"pgregory.net/rapid", "go.uber.org/goleak"},
		why:     "the suite knows the seam, and the reference store as its oracle"},
	{packages: "braidtest", own: []string{".", "driver", "memstore"}, why: "help for tests of applications"},

	{packages: "internal/storeurl", own: []string{"driver", "memstore", "sqlitestore", "pgstore", "redisstore", "internal/migrate"},
		modules: []string{"github.com/redis/go-redis/", "github.com/jackc/pgx/"},
		why:     "the one place that knows every store"},
	{packages: "internal/demo", own: []string{".", "driver", "internal/plural"}, why: "an application, which hands a store on"},
	{packages: "internal/shop", own: []string{".", "driver"}, why: "an application, which hands a store on"},
	{packages: "internal/benchmark", own: []string{".", "driver", "internal/plural"}, why: "an application, which hands a store on"},
	{packages: "internal/flowtree", own: []string{".", "internal/plural"}, why: "it goes through *braid.Client, never around it"},
	{packages: "internal/server", own: []string{".", "driver", "httpapi", "dashboard"},
		modules: []string{"go.opentelemetry.io/otel"},
		why:     "it is handed stores, and serves them through a client"},
	{packages: "internal/apiclient", own: []string{"httpapi"}, why: "it speaks HTTP, to a server or in this process"},
	{packages: "internal/cli", own: []string{".", "driver", "httpapi", "dashboard",
		"internal/storeurl", "internal/migrate", "internal/demo", "internal/shop", "internal/benchmark", "internal/flowtree", "internal/server", "internal/apiclient",
		"internal/engine", "internal/flow", "internal/flowcheck", "internal/plural"},
		modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term"},
		why:     "the program's commands"},
	{packages: "cmd/braid", own: []string{"internal/cli"}, why: "main only"},

	{packages: "internal/faultstore", own: []string{"driver"}, why: "a decorator of any store"},
	{packages: "internal/flowtest", own: []string{".", "driver", "internal/flow", "internal/flowcheck", "internal/faultstore"},
		why: "the suite of flows knows the library, and any stores through the seam"},
	{packages: "internal/testserver", why: "starts servers for tests, and knows no store"},
	{packages: "internal/sampleload", own: []string{"driver", "internal/cron"}, why: "it fills any store through the seam"},
	{packages: "internal/browsertest", why: "it speaks the protocol of browsers, and knows nothing of Braid"},
	{packages: "internal/e2etest", own: []string{".", "driver", "memstore", "internal/storeurl", "internal/testserver", "internal/faultstore"},
		why: "the whole, as a user sees it"},
	{packages: "internal/archtest", why: "it looks at packages from outside"},

	{packages: "examples/...", own: []string{".", "memstore", "sqlitestore", "pgstore", "redisstore", "httpapi", "dashboard", "braidtest"},
		modules: []string{"go.opentelemetry.io/otel", "github.com/jackc/pgx/", "github.com/redis/go-redis/"},
		why:     "examples use what users can use"},
}

// forTests are the packages that programs do not link, so that they may import testing.
var forTests = []string{
	"drivertest/...", "braidtest", "internal/testserver", "internal/e2etest", "internal/archtest",
	"internal/flowtest",
}

// importGraph maps the path of each package to the paths that its files import,
// those of its tests left out. Paths of Braid's packages are whole.
type importGraph map[string][]string

// violations lists, in order, every import that the layers do not allow and every
// package of Braid that has no layer.
func violations(graph importGraph) []string {
	var found []string
	for path, imports := range graph {
		name, ours := relative(path)
		if !ours {
			continue
		}
		at := slices.IndexFunc(layers, func(l layer) bool { return matches(l.packages, name) })
		if at < 0 {
			found = append(found, fmt.Sprintf("%s has no layer: add it to the table of internal/archtest", name))
			continue
		}
		for _, target := range imports {
			if !layers[at].allows(target) {
				found = append(found, fmt.Sprintf("%s imports %s: %s", name, target, layers[at].why))
			}
		}
	}
	slices.Sort(found)
	return found
}

// linksTesting lists, in order, the packages for production that link the package
// testing, each with the chain of imports that leads there.
func linksTesting(graph importGraph) []string {
	var found []string
	for path := range graph {
		name, ours := relative(path)
		if !ours || slices.ContainsFunc(forTests, func(pattern string) bool { return matches(pattern, name) }) {
			continue
		}
		if chain := chainTo(graph, path, "testing"); chain != nil {
			found = append(found, name+" links testing: "+strings.Join(chain, " → "))
		}
	}
	slices.Sort(found)
	return found
}

func (l layer) allows(target string) bool {
	if name, ours := relative(target); ours {
		return slices.ContainsFunc(l.own, func(pattern string) bool { return matches(pattern, name) })
	}
	// Only paths of other modules begin with a host name.
	if first, _, _ := strings.Cut(target, "/"); !strings.Contains(first, ".") {
		return true
	}
	return slices.ContainsFunc(l.modules, func(prefix string) bool { return strings.HasPrefix(target, prefix) })
}

// relative returns a package's path within the module, and whether it is of it.
func relative(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func matches(pattern, name string) bool {
	if base, deep := strings.CutSuffix(pattern, "/..."); deep {
		return name == base || strings.HasPrefix(name, base+"/")
	}
	return pattern == name
}

// chainTo returns a shortest chain of imports from one package to another, nil if
// there is none.
func chainTo(graph importGraph, from, to string) []string {
	cameFrom := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == to {
			var chain []string
			for path := to; path != ""; path = cameFrom[path] {
				chain = append(chain, path)
			}
			slices.Reverse(chain)
			return chain
		}
		for _, next := range graph[queue[0]] {
			if _, seen := cameFrom[next]; !seen {
				cameFrom[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}
