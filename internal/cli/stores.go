package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storeurl"
)

// openStores opens the store of a URL under the default name, and those of others,
// each NAME=URL. The function closes them; it may be called after an error, too.
func openStores(ctx context.Context, url string, others []string) (stores map[string]driver.Store, closeAll func() error, err error) {
	stores = make(map[string]driver.Store)
	closeAll = func() (err error) {
		for _, store := range stores {
			err = errors.Join(err, store.Close())
		}
		return err
	}
	for _, named := range append([]string{braid.DefaultStore + "=" + url}, others...) {
		name, url, ok := strings.Cut(named, "=")
		if !ok {
			return stores, closeAll, usagef("invalid --with %q: use NAME=URL", storeurl.Redact(named))
		}
		if stores[name] != nil {
			return stores, closeAll, usagef("invalid --with %q: the name is taken; give every store its own", name)
		}
		store, err := storeurl.Open(ctx, url)
		if err != nil {
			return stores, closeAll, err
		}
		stores[name] = store
	}
	return stores, closeAll, nil
}

// defaultStore is the URL of the store that commands use which are told no other. It is
// empty, which refuses to open with the reason, where there can be none.
func defaultStore() string {
	url, _ := storeurl.Default()
	return url
}

// newClient returns a client on stores that openStores opened.
func newClient(stores map[string]driver.Store, options ...braid.ClientOption) *braid.Client {
	for name, store := range stores {
		if name != braid.DefaultStore {
			options = append(options, braid.WithStore(name, store))
		}
	}
	return braid.NewClient(stores[braid.DefaultStore], options...)
}
