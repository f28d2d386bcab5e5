package braid

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
)

// DefaultStore is the name of the store that NewClient gets.
const DefaultStore = "default"

// Client enqueues jobs, looks at them, and operates on them. It is safe for
// concurrent use. It does not own its stores: close it first, then them.
type Client struct {
	shared *clientShared
	store  *boundStore // what the verbs without a definition act on
}

// clientShared is what the views of one client have in common.
type clientShared struct {
	stores     map[string]*boundStore
	logger     *slog.Logger
	maxPayload int
	drawIDs    bool
	tracing    tracing
	metrics    *metrics // nil: none are recorded
	leasing    leaseholders
	err        error // the first problem in the options

	mu     sync.Mutex
	pulses []*flowUpkeep   // of the workers that run
	life   context.Context // ends with Close
	end    context.CancelFunc
	closed <-chan struct{} // of life
	tasks  sync.WaitGroup  // what Close waits for; added to under mu, while not closed
}

// boundStore is a store under its name, with what calls to it share.
type boundStore struct {
	name     string
	driver   driver.Store
	clock    *engine.Clock
	enqueues *engine.Group[driver.EnqueueRequest, driver.EnqueueResult]
}

// A ClientOption configures a client.
type ClientOption func(*clientShared)

// WithStore adds a store under a name; definitions bind to it with [OnStore].
func WithStore(name string, store driver.Store) ClientOption {
	return func(c *clientShared) {
		c.check(driver.CheckText("store name", name, driver.MaxNameBytes))
		if _, taken := c.stores[name]; taken {
			c.check(&driver.InvalidError{Field: "store name", Value: name, Reason: "is taken; give every store its own name"})
			return
		}
		c.addStore(name, store)
	}
}

// WithLogger sets where the client and its workers log. The default is
// slog.Default().
func WithLogger(logger *slog.Logger) ClientOption {
	return func(c *clientShared) { c.logger = logger }
}

// WithMaxPayload bounds one encoded payload or result, in bytes. The default is
// 64 MiB.
func WithMaxPayload(bytes int) ClientOption {
	return func(c *clientShared) {
		if bytes < 1 {
			c.check(&driver.InvalidError{Field: "max payload", Value: strconv.Itoa(bytes), Reason: "use 1 byte or more"})
			return
		}
		c.maxPayload = bytes
	}
}

// WithClientIDs makes the client draw a random id for every job without one,
// instead of the store. Then an enqueue whose reply was lost is repeated and
// never leaves its outcome unknown.
func WithClientIDs() ClientOption {
	return func(c *clientShared) { c.drawIDs = true }
}

// NewClient returns a client on a store, which is named [DefaultStore], and on
// those of [WithStore].
func NewClient(store driver.Store, opts ...ClientOption) *Client {
	shared := &clientShared{
		stores:     make(map[string]*boundStore),
		maxPayload: driver.DefaultMaxValueBytes,
	}
	shared.life, shared.end = context.WithCancel(context.Background())
	shared.closed = shared.life.Done()
	shared.addStore(DefaultStore, store)
	for _, opt := range opts {
		if opt != nil {
			opt(shared)
		}
	}
	if shared.logger == nil {
		shared.logger = slog.Default()
	}
	return &Client{shared: shared, store: shared.lookUp(DefaultStore)}
}

// On returns a view of the client whose verbs act on the store of that name. An
// unknown name is an error of the view's first call.
func (c *Client) On(store string) *Client {
	if c.made() != nil {
		return c
	}
	return &Client{shared: c.shared, store: c.shared.lookUp(store)}
}

// Stores returns the names of the client's stores, sorted.
func (c *Client) Stores() []string {
	if c.made() != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(c.shared.stores))
}

// StoreName returns the name of the store that the client's verbs act on.
func (c *Client) StoreName() string {
	if c.made() != nil {
		return ""
	}
	return c.store.name
}

// StoreInfo describes a store to people and tools.
type StoreInfo = driver.Info

// StoreInfo describes the store that the client's verbs act on. It makes no call.
func (c *Client) StoreInfo() (StoreInfo, error) {
	if err := c.ready(); err != nil {
		return StoreInfo{}, err
	}
	return c.store.driver.Info(), nil
}

// Ping returns nil if the store can serve a call now.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	return c.store.driver.Ping(ctx)
}

// Close ends what the client runs in the background and makes later calls return
// ErrClientClosed. It leaves the stores open. It is idempotent.
func (c *Client) Close() {
	if c.made() != nil {
		return
	}
	c.shared.mu.Lock()
	c.shared.end()
	c.shared.mu.Unlock()
	c.shared.tasks.Wait()
}

// made returns an error unless the client comes from NewClient.
func (c *Client) made() error {
	if c == nil || c.shared == nil {
		return &driver.InvalidError{Field: "client", Reason: "is nil or empty; make one with braid.NewClient"}
	}
	return nil
}

// ready returns what keeps the client from making a call.
func (c *Client) ready() error {
	if err := c.made(); err != nil {
		return err
	}
	if c.shared.err != nil {
		return c.shared.err
	}
	if c.shared.isClosed() {
		return ErrClientClosed
	}
	if c.store.driver == nil {
		return &driver.InvalidError{Field: "store", Value: c.store.name,
			Reason: "is not one of the client's stores (" + strings.Join(c.Stores(), ", ") + "); add it with braid.WithStore"}
	}
	return nil
}

// begin checks that the client can make a call, and bounds it.
func (c *Client) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := c.ready(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	return ctx, cancel, nil
}

func (c *Client) now() driver.Time { return c.store.clock.Now() }

// forDefinition returns the view for a definition: of the store that it is bound to,
// or this one.
func (c *Client) forDefinition(store string) *Client {
	if store == "" || c.made() != nil || store == c.store.name {
		return c
	}
	return c.On(store)
}

// lookUp returns the store of that name, or one without driver, for ready to
// complain about.
func (c *clientShared) lookUp(name string) *boundStore {
	if s, ok := c.stores[name]; ok {
		return s
	}
	return &boundStore{name: name}
}

func (c *clientShared) addStore(name string, store driver.Store) {
	if isNil(store) {
		c.check(&driver.InvalidError{Field: "store", Value: name, Reason: "is nil; open one, such as memstore.New()"})
		return
	}
	s := &boundStore{name: name, driver: store, clock: engine.NewClock(store)}
	s.enqueues = engine.NewGroup(s.enqueueGroup, s.enqueue, groupLimit)
	c.stores[name] = s
}

// isNil reports whether there is no store, nor a nil pointer to one.
func isNil(store driver.Store) bool {
	value := reflect.ValueOf(store)
	return store == nil || value.Kind() == reflect.Pointer && value.IsNil()
}

// background runs a task that Close ends and waits for; not on a closed client.
func (c *clientShared) background(task func(closed <-chan struct{})) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isClosed() {
		c.tasks.Go(func() { task(c.closed) })
	}
}

func (c *clientShared) isClosed() bool { return c.life.Err() != nil }

func (c *clientShared) check(err error) {
	if err != nil && c.err == nil {
		c.err = within(err, "client")
	}
}

const (
	groupLimit  = 1000             // the most enqueues in one call
	callTimeout = 10 * time.Second // of one call to a store
)
