package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

func TestBadURLsAndOptionsAreRefused(t *testing.T) {
	url := testserver.SharedRedis(t)
	for _, c := range []struct {
		name, url string
		opts      []redisstore.Option
		field     string
	}{
		{"another scheme", "postgres://localhost", nil, "store url"},
		{"no URL", "redis://a b:%zz", nil, "store url"},
		{"unknown parameter", "redis://localhost?colour=red", nil, "store url"},
		{"empty prefix parameter", "redis://localhost?prefix=", nil, "store url"},
		{"brace in the prefix parameter", url + "?prefix=a{b", nil, "prefix"},
		{"brace", url, []redisstore.Option{redisstore.WithPrefix("a}b")}, "prefix"},
		{"empty prefix", url, []redisstore.Option{redisstore.WithPrefix("")}, "prefix"},
		{"long prefix", url, []redisstore.Option{redisstore.WithPrefix(strings.Repeat("x", 129))}, "prefix"},
		{"no generator", url, []redisstore.Option{redisstore.WithIDGenerator(nil)}, "id generator"},
		{"no logger", url, []redisstore.Option{redisstore.WithLogger(nil)}, "logger"},
		{"negative ttl", url, []redisstore.Option{redisstore.WithHistoryTTL(-1)}, "history ttl"},
		{"empty ceiling", url, []redisstore.Option{redisstore.WithHistoryCeiling(driver.HistoryCeiling{})}, "history ceiling"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, err := redisstore.Open(t.Context(), c.url, c.opts...)
			var invalid *driver.InvalidError
			if !errors.As(err, &invalid) || invalid.Field != c.field {
				t.Errorf("Open returned %v (%v); want an InvalidError of the field %q", store, err, c.field)
			}
		})
	}
	if _, err := redisstore.New(t.Context(), nil); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("New without a client returned %v", err)
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	_, err := redisstore.Open(t.Context(), "redis://me:secret@localhost?colour=red")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
}

func TestThePrefixOfTheURL(t *testing.T) {
	url, prefix := testserver.SharedRedis(t), freshPrefix("")
	store, err := redisstore.Open(t.Context(), url+"?prefix="+prefix, redisstore.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	enqueue(t, store, "a")
	other := stores{url: url}.open(t, prefix)
	if jobs, err := other.Jobs(t.Context(), []string{"a"}); err != nil || jobs[0] == nil {
		t.Errorf("a store with that prefix finds %v (%v)", jobs, err)
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	url, prefix := testserver.SharedRedis(t), freshPrefix("")
	client := clientOf(t, url)
	if err := client.HSet(t.Context(), "{"+prefix+"}:meta", "format", "2").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := redisstore.Open(t.Context(), url, redisstore.WithPrefix(prefix), redisstore.WithLogger(quiet))
	if !errors.Is(err, driver.ErrFormatTooNew) {
		t.Errorf("Open returned %v, want ErrFormatTooNew", err)
	}
}

func TestAnUnreachableServerIsAnErrorThatPasses(t *testing.T) {
	_, err := redisstore.Open(t.Context(), "redis://127.0.0.1:1", redisstore.WithLogger(quiet))
	if !driver.Retryable(err) || driver.OutcomeUnknown(err) {
		t.Errorf("Open returned %v; want an error that can be retried, with a known outcome", err)
	}
}

// infoHook rewrites what a server says of itself.
type infoHook struct{ old, new string }

func (infoHook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h infoHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if info, ok := cmd.(*redis.StringCmd); ok && strings.EqualFold(cmd.Name(), "info") {
			text := info.Val()
			if i := strings.Index(text, h.old); i >= 0 {
				end := i + strings.Index(text[i:], "\r\n")
				text = text[:i] + h.new + text[end:]
			}
			info.SetVal(text)
		}
		return err
	}
}
func (infoHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestServersThatAreTooOldAreRefused(t *testing.T) {
	for version, served := range map[string]bool{"6.0.20": false, "5.0.14": false, "6.2.0": true, "7.4.1": true, "10.0.0": true} {
		client := clientOf(t, testserver.SharedRedis(t))
		client.AddHook(infoHook{"redis_version:", "redis_version:" + version})
		store, err := redisstore.New(t.Context(), client, redisstore.WithPrefix(freshPrefix("")), redisstore.WithLogger(quiet))
		if served != (err == nil) {
			t.Errorf("Redis %s: New returned %v; want it served: %v", version, err, served)
		}
		if err == nil {
			_ = store.Close()
		} else if !strings.Contains(err.Error(), version) || !strings.Contains(err.Error(), "6.2") {
			t.Errorf("the error %q names neither the version nor what is needed", err)
		}
	}
}

func TestSettingsThatLoseJobsAreWarnedOf(t *testing.T) {
	evicting := testserver.Redis(t, testserver.Directive("maxmemory", "100mb"), testserver.Directive("maxmemory-policy", "allkeys-lru"))
	safe := testserver.Redis(t, testserver.AppendOnly(), testserver.Directive("maxmemory", "100mb"))
	warnings := func(url string) string {
		var log bytes.Buffer
		store, err := redisstore.Open(t.Context(), url, redisstore.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		return log.String()
	}
	if log := warnings(evicting.URL()); !strings.Contains(log, "maxmemory-policy=allkeys-lru") || !strings.Contains(log, "appendonly") {
		t.Errorf("an evicting server without persistence is opened with the warnings %q", log)
	}
	if log := warnings(safe.URL()); log != "" {
		t.Errorf("a safe server is opened with the warnings %q", log)
	}
}

func TestListIndexesAreMadeCompleteAtOpen(t *testing.T) {
	url := testserver.SharedRedis(t)
	client := clientOf(t, url)
	// The queue's index as it is listed with both indexes on.
	listed := func(t *testing.T, prefix string) int {
		t.Helper()
		store := stores{url: url}.open(t, prefix)
		byQueue, err := store.List(t.Context(), driver.ListRequest{Queue: "q", Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		byName, err := store.List(t.Context(), driver.ListRequest{Name: "n", Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if len(byQueue.Jobs) != len(byName.Jobs) {
			t.Errorf("%d jobs are listed by queue, %d by name", len(byQueue.Jobs), len(byName.Jobs))
		}
		return len(byQueue.Jobs)
	}
	off := []redisstore.Option{redisstore.WithoutNameIndex(), redisstore.WithoutQueueIndex()}

	t.Run("switched on later", func(t *testing.T) {
		prefix := freshPrefix("")
		store := stores{url: url, opts: off}.open(t, prefix)
		var batch []driver.EnqueueRequest
		for range 600 {
			batch = append(batch, driver.EnqueueRequest{Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 1}})
		}
		if _, err := store.Enqueue(t.Context(), 0, batch); err != nil {
			t.Fatal(err)
		}
		if n := listed(t, prefix); n != 600 {
			t.Errorf("%d of 600 jobs are listed", n)
		}
	})

	t.Run("written beside a program without them", func(t *testing.T) {
		prefix := freshPrefix("")
		indexed := stores{url: url}.open(t, prefix)
		now, err := indexed.(driver.ServerClock).ServerTime(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// The mark of that opening stays, since the other program's opening takes it away.
		mark := client.HGet(t.Context(), "{"+prefix+"}:meta", "index:q").Val()
		plain := stores{url: url, opts: off}.open(t, prefix)
		for _, at := range []driver.Time{now - 3_600_000, now + 1000} {
			if _, err := plain.Enqueue(t.Context(), at, []driver.EnqueueRequest{{Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 1}}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, index := range []string{"index:n", "index:q"} {
			if err := client.HSet(t.Context(), "{"+prefix+"}:meta", index, mark).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if n := listed(t, prefix); n != 1 {
			t.Errorf("%d jobs are listed, want the one behind the mark", n)
		}
		if marked := client.HGet(t.Context(), "{"+prefix+"}:meta", "index:q").Val(); marked < mark {
			t.Errorf("the mark went from %s to %s", mark, marked)
		}
	})

	t.Run("switched off", func(t *testing.T) {
		prefix := freshPrefix("")
		_ = stores{url: url}.open(t, prefix)
		_ = stores{url: url, opts: off}.open(t, prefix)
		for _, index := range []string{"index:n", "index:q"} {
			if client.HExists(t.Context(), "{"+prefix+"}:meta", index).Val() {
				t.Errorf("the mark %s is still there", index)
			}
		}
	})
}
