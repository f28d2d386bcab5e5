package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestPackagesImportOnlyWhatTheirLayerAllows(t *testing.T) {
	for _, violation := range violations(loadGraph(t)) {
		t.Error(violation)
	}
}

func TestNothingForProductionLinksTesting(t *testing.T) {
	for _, violation := range linksTesting(loadGraph(t)) {
		t.Error(violation)
	}
}

func TestViolationsAreFound(t *testing.T) {
	graph := importGraph{
		module:                          {"context", module + "/driver", module + "/memstore"},
		module + "/driver":              {"context", "github.com/other/thing"},
		module + "/memstore":            {module + "/driver", module + "/redisstore", "github.com/tidwall/btree"},
		module + "/pgstore/sub":         {module + "/pgstore", module, "github.com/jackc/pgx/v5/pgxpool"},
		module + "/internal/engine":     {module + "/driver"},
		module + "/internal/storeurl":   {module + "/memstore", module + "/sqlitestore"},
		module + "/dashboard":           {module, module + "/driver"},
		module + "/internal/newcomer":   {"fmt"},
		module + "/examples/hello":      {module, module + "/memstore", module + "/internal/engine"},
		"github.com/other/thing":        {module + "/driver"},
		"github.com/braidmq/braidother": {module + "/memstore"},
	}
	want := []string{
		". imports " + module + "/memstore: the library never names a store",
		"dashboard imports " + module + "/driver: it goes through *braid.Client, never around it",
		"driver imports github.com/other/thing: the seam leans on nothing but the standard library",
		"examples/hello imports " + module + "/internal/engine: examples use what users can use",
		"internal/newcomer has no layer: add it to the table of internal/archtest",
		"memstore imports " + module + "/redisstore: a store knows the seam and its own data structure",
		"pgstore/sub imports " + module + ": a store knows the seam and its own database library",
	}
	if got := violations(graph); !slices.Equal(got, want) {
		t.Errorf("violations:\n%q\nwant\n%q", got, want)
	}
}

func TestChainsToTestingAreFound(t *testing.T) {
	graph := importGraph{
		module:                   {module + "/driver", "example.com/logs"},
		module + "/driver":       {"context"},
		module + "/drivertest":   {"testing"},
		module + "/braidtest":    {"testing"},
		"example.com/logs":       {"fmt", "example.com/logs/check"},
		"example.com/logs/check": {"testing"},
		"testing":                {"fmt"},
	}
	want := []string{". links testing: " + module + " → example.com/logs → example.com/logs/check → testing"}
	if got := linksTesting(graph); !slices.Equal(got, want) {
		t.Errorf("links testing:\n%q\nwant\n%q", got, want)
	}
}

// loadGraph returns the imports of every package of the module and of everything that
// they link, the standard library included.
func loadGraph(t *testing.T) importGraph {
	t.Helper()
	list := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Imports", "./...")
	list.Dir = root(t)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	graph := importGraph{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath string
			Imports    []string
		}
		err := decoder.Decode(&listed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		graph[listed.ImportPath] = listed.Imports
	}
	if graph[module+"/driver"] == nil {
		t.Fatalf("go list did not find %s/driver among %d packages", module, len(graph))
	}
	return graph
}

// root returns the module's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
