package braid

import (
	"runtime/debug"
	"sync"
)

// buildVersion returns the version of the program's main module, with the revision that
// it was built from, as far as the build knows them.
var buildVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 7 && version == "(devel)" {
			version += " " + setting.Value[:7]
		}
	}
	return version
})
