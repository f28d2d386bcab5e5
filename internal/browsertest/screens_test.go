package browsertest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// TestScreens takes the pictures of docs/images anew when BRAID_SCREENS names a folder
// for them. In any case it looks at every page on every screen: nothing may stick out of
// it, and the browser may not complain.
func TestScreens(t *testing.T) {
	v := visitLoaded(t)
	folder := os.Getenv("BRAID_SCREENS")
	pages := []struct{ name, path string }{
		{"overview", "/"},
		{"queues", "/queues"},
		{"jobs", "/jobs?" + url.Values{"state": {"failed"}, "order": {"finished"}}.Encode()},
		{"job-failed", "/job?" + url.Values{"id": {v.load.Failed}}.Encode()},
		{"job-waiting", "/job?" + url.Values{"id": {v.load.Waiting}}.Encode()},
		{"flow", "/flow?" + url.Values{"id": {v.load.Flow}}.Encode()},
		{"schedules", "/schedules"},
		{"workers", "/workers"},
	}
	for _, screen := range []struct {
		name          string
		width, height int
		dark          bool
	}{{"", 1280, 800, false}, {"-dark", 1280, 800, true}, {"-phone", 390, 844, false}} {
		v.must(browser.Look(v.ctx, screen.width, screen.height, screen.dark))
		for _, page := range pages {
			v.open(page.path)
			var overhang int
			v.must(browser.Run(v.ctx, "return document.documentElement.scrollWidth - document.documentElement.clientWidth", &overhang))
			if overhang > 0 {
				t.Errorf("%s%s: %d pixels stick out", page.name, screen.name, overhang)
			}
			if folder == "" {
				continue
			}
			picture, err := browser.Screenshot(v.ctx)
			v.must(err)
			v.must(os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s%s.png", page.name, screen.name)), picture, 0o644))
		}
	}
	v.quiet()
}
