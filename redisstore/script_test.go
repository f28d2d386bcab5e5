package redisstore

import (
	"context"
	"crypto/rand"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/internal/testserver"
)

// header is what the comment at the beginning of a script promises.
type header struct {
	fixed   int  // how many arguments are numbered
	open    bool // whether more follow them
	readNow bool // whether the first is the time
}

var (
	headerARGV  = regexp.MustCompile(`(?s)-- KEYS     1: the prefix\n-- ARGV     (.+?)-- RETURNS  \S`)
	furtherArgs = regexp.MustCompile(`; then\s`)
	usedARGV    = regexp.MustCompile(`ARGV\[(\d+)\]`)
)

// readHeader reads the header of a script, or fails.
func readHeader(t *testing.T, name string) header {
	t.Helper()
	text, err := luaFiles.ReadFile("lua/" + name + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	match := headerARGV.FindStringSubmatch(string(text))
	if match == nil {
		t.Fatalf("%s.lua has no header with KEYS, ARGV and RETURNS", name)
	}
	argv := strings.ReplaceAll(match[1], "\n--          ", " ")
	h := header{open: furtherArgs.MatchString(argv)}
	switch {
	case strings.HasPrefix(argv, "1: now; 2: settings"):
		h.readNow = true
	case !strings.HasPrefix(argv, "1: empty; 2: settings"):
		t.Errorf("%s.lua: the first arguments are %q; want now or empty, then settings", name, argv)
	}
	for _, number := range regexp.MustCompile(`\d+`).FindAllString(numbersOf(argv), -1) {
		n, _ := strconv.Atoi(number)
		if n != h.fixed+1 {
			t.Errorf("%s.lua: argument %d follows %d in its header", name, n, h.fixed)
		}
		h.fixed = n
	}
	return h
}

// numbersOf leaves of a list of arguments their numbers: "8, 9: time and id" and "4–6:
// the ceiling" number several.
func numbersOf(argv string) string {
	var numbers []string
	for _, label := range regexp.MustCompile(`(?:^|; )(\d+)(?:(,|–| and) ?(\d+))?: `).FindAllStringSubmatch(argv, -1) {
		first, _ := strconv.Atoi(label[1])
		last := first
		if label[3] != "" {
			last, _ = strconv.Atoi(label[3])
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, strconv.Itoa(n))
		}
	}
	return strings.Join(numbers, " ")
}

func TestEveryScriptIsUsed(t *testing.T) {
	var files, used []string
	paths, err := fs.Glob(luaFiles, "lua/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		files = append(files, strings.TrimSuffix(path.Base(p), ".lua"))
	}
	for _, s := range loaded {
		used = append(used, s.name)
	}
	slices.Sort(used)
	if !slices.Equal(files, used) {
		t.Errorf("the files are\n%q\nthe store loads\n%q", files, used)
	}
}

func TestScriptsReadNoArgumentBeyondTheirHeader(t *testing.T) {
	for _, s := range loaded {
		h := readHeader(t, s.name)
		for _, use := range usedARGV.FindAllStringSubmatch(s.source, -1) {
			if n, _ := strconv.Atoi(use[1]); n > h.fixed && !h.open {
				t.Errorf("%s.lua reads ARGV[%d]; its header ends at %d", s.name, n, h.fixed)
			}
		}
	}
}

// TestCallsKeepToTheHeaders runs the conformance suite and holds each call of a script
// against the script's header.
func TestCallsKeepToTheHeaders(t *testing.T) {
	checker := &callChecker{t: t, headers: map[string]header{}, names: map[string]string{}, seen: map[string]bool{}}
	for _, s := range loaded {
		checker.headers[s.sha] = readHeader(t, s.name)
		checker.names[s.sha] = s.name
	}
	options, err := redis.ParseURL(testserver.SharedRedis(t))
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries = -1
	open := func(tb drivertest.TB, prefix string, opts ...Option) driver.Store {
		client := redis.NewClient(options)
		client.AddHook(checker)
		tb.Cleanup(func() { _ = client.Close() })
		opts = append(opts, WithPrefix(prefix), WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
		store, err := New(tb.Context(), client, opts...)
		if err != nil {
			tb.Fatalf("New: %v", err)
		}
		tb.Cleanup(func() { _ = store.Close() })
		return store
	}
	drivertest.Run(t, drivertest.Harness{
		Open: func(tb drivertest.TB, o drivertest.StoreOptions) driver.Store {
			var opts []Option
			if ceiling, ok := o.HistoryCeiling.Get(); ok {
				opts = append(opts, WithHistoryCeiling(ceiling))
			}
			if o.IDGenerator != nil {
				opts = append(opts, WithIDGenerator(o.IDGenerator))
			}
			if o.WithoutStats {
				opts = append(opts, WithoutStats())
			}
			return open(tb, "headers-"+rand.Text(), opts...)
		},
		Lists:  func(r driver.ListRequest) bool { return r.States != nil && len(r.States) == 0 },
		Remote: true,
	})
	for sha, name := range checker.names {
		if !checker.seen[sha] {
			t.Errorf("the suite makes no call of %s.lua", name)
		}
	}
}

// callChecker is a hook of a client.
type callChecker struct {
	t       *testing.T
	headers map[string]header // by SHA
	names   map[string]string

	mu   sync.Mutex
	seen map[string]bool
}

func (c *callChecker) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *callChecker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.check(cmd)
		return next(ctx, cmd)
	}
}

func (c *callChecker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.check(cmd)
		}
		return next(ctx, cmds)
	}
}

func (c *callChecker) check(cmd redis.Cmder) {
	args := cmd.Args()
	if args[0] != "EVALSHA" {
		return
	}
	sha := args[1].(string)
	h, known := c.headers[sha]
	if !known {
		c.t.Errorf("EVALSHA %s: no such script", sha)
		return
	}
	name, argv := c.names[sha], args[4:]
	switch {
	case args[2] != 1 || !strings.HasSuffix(args[3].(string), "}:"):
		c.t.Errorf("%s.lua was given the keys %v; want the prefix alone", name, args[2:4])
	case len(argv) < h.fixed || len(argv) > h.fixed && !h.open:
		c.t.Errorf("%s.lua was given %d arguments; its header says %d (and more: %v)", name, len(argv), h.fixed, h.open)
	case h.readNow != (len(argv[0].(string)) == 8):
		c.t.Errorf("%s.lua was given %q for now; its header says that it reads it: %v", name, argv[0], h.readNow)
	}
	c.mu.Lock()
	c.seen[sha] = true
	c.mu.Unlock()
}
