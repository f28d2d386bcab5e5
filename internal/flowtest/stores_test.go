package flowtest

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/memstore"
	"github.com/braidmq/braid/pgstore"
	"github.com/braidmq/braid/redisstore"
	"github.com/braidmq/braid/sqlitestore"
)

// storeKind is a kind of store that the suite runs over, alone and beside the others.
type storeKind struct {
	name string
	// empty makes an empty store and returns its address.
	empty func(t testing.TB) string
	open  func(address string) (driver.Store, error)
	// shared says that several processes can open one address.
	shared bool
	// passesOver is [Pair].PassesOver of it.
	passesOver bool
}

// storeKinds are all of them: a kind joins every suite of this package with a line here.
var storeKinds = []storeKind{
	{name: "memory", empty: func(testing.TB) string { return "" }, open: openMemory},
	{name: "SQLite", empty: emptySQLite, open: openSQLite, shared: true},
	{name: "Redis", empty: emptyRedis, open: openRedis, shared: true},
	{name: "Postgres", empty: emptyPostgres, open: openPostgres, shared: true, passesOver: true},
}

func (k storeKind) store(t testing.TB) driver.Store {
	t.Helper()
	store, err := k.open(k.empty(t))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// address returns the address of an empty store as openByAddress knows it.
func (k storeKind) address(t testing.TB) string { return k.name + " " + k.empty(t) }

func openByAddress(address string) (driver.Store, error) {
	name, address, _ := strings.Cut(address, " ")
	for _, k := range storeKinds {
		if k.name == name {
			return k.open(address)
		}
	}
	return nil, fmt.Errorf("there is no kind of store %q", name)
}

// storePair is where parents and children live.
type storePair struct{ parents, children storeKind }

func (p storePair) String() string { return p.parents.name + " and " + p.children.name }

func (p storePair) pair() Pair {
	return Pair{Parents: p.parents.store, Children: p.children.store, PassesOver: p.parents.passesOver}
}

// mixedPairs returns the pairs of different kinds: each one way round, so that every
// kind has its turn as parents and as children, or both ways in a soak.
func mixedPairs() []storePair {
	both := os.Getenv("BRAID_SOAK") != ""
	var all []storePair
	for i, a := range storeKinds {
		for j, b := range storeKinds[:i] {
			if (i+j)%2 == 1 || both {
				all = append(all, storePair{a, b})
			}
			if (i+j)%2 == 0 || both {
				all = append(all, storePair{b, a})
			}
		}
	}
	return all
}

func openMemory(string) (driver.Store, error) { return memstore.New(), nil }

func emptySQLite(t testing.TB) string { return filepath.Join(t.TempDir(), "jobs.db") }

// The suite is not about power cuts, and quicker without waiting for the disk.
func openSQLite(path string) (driver.Store, error) {
	return sqlitestore.Open(path, sqlitestore.WithRelaxedDurability())
}

// parts number the parts of servers.
var parts atomic.Int64

// emptyRedis returns the address of a part of the server that nothing uses.
func emptyRedis(t testing.TB) string {
	return fmt.Sprintf("%s flow-%d-%d", testserver.SharedRedis(t), time.Now().UnixNano(), parts.Add(1))
}

func openRedis(address string) (driver.Store, error) {
	url, prefix, _ := strings.Cut(address, " ")
	return redisstore.Open(context.Background(), url, redisstore.WithPrefix(prefix), redisstore.WithLogger(slog.New(slog.DiscardHandler)))
}

// emptyPostgres returns the URL of a schema that nothing uses.
func emptyPostgres(t testing.TB) string {
	u, err := url.Parse(testserver.SharedPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("schema", fmt.Sprintf("flow_%d_%d", time.Now().UnixNano(), parts.Add(1)))
	query.Set("pool_max_conns", "3") // many stores share the server
	u.RawQuery = query.Encode()
	return u.String()
}

func openPostgres(url string) (driver.Store, error) {
	return pgstore.Open(context.Background(), url, pgstore.WithMigrate(), pgstore.WithLogger(slog.New(slog.DiscardHandler)))
}
