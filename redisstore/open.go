package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/braidmq/braid/driver"
)

var (
	openScript  = loadScript("open")
	indexScript = loadScript("index")
	markScript  = loadScript("mark")
)

// minVersion is the oldest server that is served: 6.2.
var minVersion = [2]int{6, 2}

// healedTail is how far behind a list index's mark its entries are made again at open:
// until then a program without that index may have been at work.
const healedTail = 60_000

// Open connects to a server and opens the store in it, which it makes if need be.
//
// The URL is redis://user:password@host:port/db, rediss:// for TLS, or
// unix://user:password@/path/to/socket?db=0. The parameter prefix is [WithPrefix]; addr,
// which may be repeated, names another node of a cluster; the others are those of
// go-redis, such as dial_timeout, read_timeout and pool_size. For Sentinel, make a client
// and use [New].
//
// The first opening with a list index that was off before builds it, which takes about
// a second per 100,000 jobs.
//
// While the server cannot be reached, go-redis writes a line per connection that it fails to
// make, to the one logger that all its clients share, and to stderr by default. The store
// logs and returns its errors by itself, so a program that uses go-redis for nothing else
// can silence these lines by redis.SetLogger(&logging.VoidLogger{}), of go-redis' package
// logging.
func Open(ctx context.Context, rawURL string, opts ...Option) (*Store, error) {
	client, prefix, err := connect(rawURL)
	if err != nil {
		return nil, err
	}
	if prefix != "" {
		opts = append([]Option{WithPrefix(prefix)}, opts...)
	}
	settings, err := newSettings(opts)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	location, _ := describe(client)
	return open(ctx, client, settings, true, location)
}

// New opens the store that a client of the caller's own leads to: a single server,
// Sentinel, or Cluster. Close leaves the client open.
//
// The client should not retry by itself (MaxRetries: -1), since a call whose reply was
// lost may have been made, and should mind deadlines (ContextTimeoutEnabled).
func New(ctx context.Context, client redis.UniversalClient, opts ...Option) (*Store, error) {
	if client == nil {
		return nil, &driver.InvalidError{Field: "client", Value: "nil", Reason: "is no client; pass one, or use Open"}
	}
	settings, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	location, retries := describe(client)
	if retries {
		settings.logger.Warn("braid: the Redis client retries by itself, which may enqueue a job twice when a reply is lost; set MaxRetries to -1")
	}
	return open(ctx, client, settings, false, location)
}

// describe tells where a client leads to, and whether it sends commands again by
// itself.
func describe(client redis.UniversalClient) (location string, retries bool) {
	switch client := client.(type) {
	case *redis.Client:
		return client.Options().Addr + "/" + strconv.Itoa(client.Options().DB), client.Options().MaxRetries > 0
	case *redis.ClusterClient:
		return strings.Join(client.Options().Addrs, ","), client.Options().MaxRetries > 0
	}
	return "", false
}

// connect makes a client for a URL, and takes the prefix out of its parameters. A lost
// reply must not run a script again behind the caller's back, so the client sends
// nothing twice.
func connect(rawURL string) (client redis.UniversalClient, prefix string, err error) {
	invalid := func(reason string) error {
		return &driver.InvalidError{Field: "store url", Value: redacted(rawURL), Reason: reason}
	}
	parsed, err := url.Parse(rawURL)
	if err != nil {
		return nil, "", invalid("is no URL; use redis://user:password@host:port/db?prefix=braid")
	}
	query := parsed.Query()
	if given, ok := query["prefix"]; ok {
		if prefix = given[len(given)-1]; prefix == "" {
			return nil, "", invalid("has an empty prefix; name one, or leave the parameter out")
		}
		query.Del("prefix")
		parsed.RawQuery = query.Encode()
	}
	if query.Has("addr") {
		options, err := redis.ParseClusterURL(parsed.String())
		if err != nil {
			return nil, "", invalid(reason(err))
		}
		options.MaxRetries, options.ContextTimeoutEnabled, options.DisableIdentity = -1, true, true
		options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClusterClient(options), prefix, nil
	}
	options, err := redis.ParseURL(parsed.String())
	if err != nil {
		return nil, "", invalid(reason(err))
	}
	options.MaxRetries, options.ContextTimeoutEnabled, options.DisableIdentity = -1, true, true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(options), prefix, nil
}

// reason tells why go-redis refuses a URL.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), "redis: ") + "; use redis://, rediss:// or unix://"
}

// redacted returns a URL without its password.
func redacted(rawURL string) string {
	parsed, err := url.Parse(rawURL)
	if err != nil {
		return "(not shown: it may hold a password)"
	}
	return parsed.Redacted()
}

// open makes a store of a client, and the prefix ready.
func open(ctx context.Context, client redis.UniversalClient, settings settings, owns bool, location string) (*Store, error) {
	s := &Store{
		settings: settings, client: client, ownsClient: owns, location: location,
		keys: newKeyspace(settings.prefix), done: make(chan struct{}),
	}
	s.listener = newListener(s)
	err := s.prepare(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare checks server and format, and builds what is missing of the list indexes.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.checkServer(ctx); err != nil {
		return err
	}
	s.scriptSettings = s.letters(s.sharded)
	began, err := s.ServerTime(ctx)
	if err != nil {
		return err
	}
	reply, err := s.run(ctx, "Open", call{script: openScript, args: []any{formatVersion}})
	if err != nil {
		return err
	}
	answers, err := texts("Open", reply)
	if err != nil || len(answers) != 4 {
		return storeError("Open", errCorrupt)
	}
	if stored, err := strconv.Atoi(answers[0]); err != nil || stored > formatVersion {
		return fmt.Errorf("%w: it has format %q, this program knows %d; run a newer version of Braid, or use another prefix",
			driver.ErrFormatTooNew, answers[0], formatVersion)
	}
	s.openedAt, _ = strconv.ParseUint(answers[3], 10, 64)
	return s.healIndexes(ctx, began, answers[1], answers[2])
}

// healIndexes enters into the list indexes whatever they may lack, and then marks them
// as complete up to the time of the opening.
func (s *Store) healIndexes(ctx context.Context, began driver.Time, nameMark, queueMark string) error {
	var marks []string
	if !s.noNames {
		marks = append(marks, nameMark)
	}
	if !s.noQueues {
		marks = append(marks, queueMark)
	}
	if len(marks) == 0 {
		return nil
	}
	from := incompleteFrom(marks)
	for id := ""; ; {
		reply, err := s.run(ctx, "Open", call{script: indexScript, args: []any{from, id, driver.ChunkJobs}})
		if err != nil {
			return err
		}
		place, err := texts("Open", reply)
		if err != nil || len(place) != 2 {
			return storeError("Open", errCorrupt)
		}
		if from, id = place[0], place[1]; id == "" {
			break
		}
	}
	_, err := s.run(ctx, "Open", call{script: markScript, args: []any{int64(began)}})
	return err
}

// incompleteFrom returns the time, as a score, from which indexes with these marks may
// lack entries.
func incompleteFrom(marks []string) string {
	earliest := int64(math.MaxInt64)
	for _, mark := range marks {
		at, err := strconv.ParseInt(mark, 10, 64)
		if err != nil {
			return "-inf"
		}
		earliest = min(earliest, at-healedTail)
	}
	return strconv.FormatInt(earliest, 10)
}
