package storeurl

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

// Default returns the URL of the store that is used where none is named: the SQLite
// file braid.db in the user's folder for state. That is $XDG_STATE_HOME/braid, or
// ~/.local/state/braid; on macOS ~/Library/Application Support/braid, on Windows
// %LocalAppData%\braid. Open makes it, with its folder, and migrates it. It fails if
// the environment names no such folder.
func Default() (string, error) {
	folder, err := stateFolder()
	if err != nil {
		return "", &driver.InvalidError{Field: "store", Value: "",
			Reason: "is not named, and there is no folder for the default one: " + err.Error() + "; name a store, such as sqlite:jobs.db"}
	}
	return "sqlite:" + filepath.Join(folder, "braid", "braid.db"), nil
}

func stateFolder() (string, error) {
	if folder := os.Getenv("XDG_STATE_HOME"); folder != "" && filepath.IsAbs(folder) {
		return folder, nil // a relative one is to be passed over, says the XDG specification
	}
	switch runtime.GOOS {
	case "windows":
		return os.UserCacheDir() // %LocalAppData%
	case "darwin", "ios":
		return os.UserConfigDir() // ~/Library/Application Support
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(home) {
		return "", errors.New("$HOME is not an absolute path")
	}
	return filepath.Join(home, ".local", "state"), nil
}

// openSQLite opens the store in the file of that path. The default one is nobody's to
// prepare, so it comes with its folder, and up to date.
func openSQLite(raw, path string, logger *slog.Logger) (driver.Store, error) {
	options := []sqlitestore.Option{sqlitestore.WithLogger(logger)}
	if standard, err := Default(); err == nil && raw == standard {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, &driver.StoreError{Op: "Open", Err: err}
		}
		options = append(options, sqlitestore.WithMigrate())
	}
	store, err := sqlitestore.Open(path, options...)
	if err != nil {
		return nil, err
	}
	return store, nil
}
