package browsertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/dashboard"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/httpapi"
	"github.com/braidmq/braid/internal/sampleload"
	"github.com/braidmq/braid/memstore"
)

// browser is the one of the whole run.
var browser *Browser

func TestMain(m *testing.M) { os.Exit(runWithBrowser(m)) }

func runWithBrowser(m *testing.M) int {
	profile, err := os.MkdirTemp("", "braid-browser-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(profile)
	address, stop, err := startDriver()
	if err != nil {
		fmt.Println("the tests of the dashboard need chromium and chromedriver (tools/setup.sh installs them):", err)
		return 1
	}
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if browser, err = open(ctx, address, profile); err != nil {
		fmt.Println("the browser does not start:", err)
		return 1
	}
	code := m.Run()
	ending, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := browser.Close(ending); err != nil {
		fmt.Println("the browser does not end:", err)
	}
	return code
}

// startDriver starts chromedriver on a free port.
func startDriver() (address string, stop func(), err error) {
	command := exec.Command("chromedriver", "--port=0")
	command.WaitDelay = 5 * time.Second
	out, err := command.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, port, ok := strings.Cut(lines.Text(), "started successfully on port "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return "http://127.0.0.1:" + strings.Trim(port, ". \r"), stop, nil
		}
	}
	stop()
	return "", nil, errors.New("chromedriver does not tell its port")
}

// visit is a dashboard in the browser. Steps fail the test.
type visit struct {
	*testing.T
	ctx    context.Context
	store  *memstore.Store
	client *braid.Client
	load   sampleload.Load
	url    string
	now    time.Time // of the load
}

// visitLoaded serves a dashboard over a store with a load in it.
func visitLoaded(t *testing.T, options ...dashboard.Option) *visit {
	t.Helper()
	v := visitEmpty(t, options...)
	v.now = time.Now().UTC()
	var err error
	if v.load, err = sampleload.Fill(v.ctx, v.store, driver.TimeOf(v.now), 1); err != nil {
		t.Fatal(err)
	}
	return v
}

func visitEmpty(t *testing.T, options ...dashboard.Option) *visit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	v := &visit{T: t, ctx: ctx, store: memstore.New()}
	v.client = braid.NewClient(v.store)
	api := httpapi.New(v.client, httpapi.WithPollInterval(50*time.Millisecond))
	mux := http.NewServeMux()
	mux.Handle(httpapi.Prefix, api)
	mux.Handle("/", dashboard.New(v.client, append([]dashboard.Option{dashboard.WithEvents(httpapi.Prefix + "events")}, options...)...))
	server := httptest.NewServer(mux)
	v.url = server.URL
	t.Cleanup(func() {
		_ = browser.Open(context.Background(), "about:blank") // so that no page is left that listens
		api.Drain()
		server.Close()
		v.client.Close()
		v.store.Close()
	})
	v.must(browser.Look(ctx, 1280, 800, false))
	return v
}

func (v *visit) must(err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}

// open shows a page of the dashboard.
func (v *visit) open(path string) {
	v.Helper()
	v.must(browser.Open(v.ctx, v.url+path))
}

// click clicks the link or button that reads so.
func (v *visit) click(text string) {
	v.Helper()
	v.insist(func() error {
		element, err := browser.FindText(v.ctx, text)
		if err != nil {
			return err
		}
		return element.Click(v.ctx)
	})
}

// insist repeats what found no element, or one that a live update replaced meanwhile.
func (v *visit) insist(do func() error) {
	v.Helper()
	err := do()
	for deadline := time.Now().Add(10 * time.Second); errors.Is(err, errNoSuchElement) && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		err = do()
	}
	v.must(err)
}

// clickOn clicks what a selector selects.
func (v *visit) clickOn(selector string) {
	v.Helper()
	v.insist(func() error {
		element, err := browser.Find(v.ctx, selector)
		if err != nil {
			return err
		}
		return element.Click(v.ctx)
	})
}

// write types into what a selector selects.
func (v *visit) write(selector, text string) {
	v.Helper()
	v.insist(func() error {
		element, err := browser.Find(v.ctx, selector)
		if err != nil {
			return err
		}
		return element.Type(v.ctx, text)
	})
}

// text returns what an element shows.
func (v *visit) text(selector string) string {
	v.Helper()
	var text string
	v.insist(func() error {
		element, err := browser.Find(v.ctx, selector)
		if err != nil {
			return err
		}
		text, err = element.Text(v.ctx)
		return err
	})
	return text
}

// sees waits until an element shows a text.
func (v *visit) sees(selector, want string) {
	v.Helper()
	seen := ""
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		element, err := browser.Find(v.ctx, selector)
		if err == nil {
			if seen, err = element.Text(v.ctx); err == nil && strings.Contains(seen, want) {
				return
			}
		}
		if err != nil && !errors.Is(err, errNoSuchElement) {
			v.Fatal(err)
		}
	}
	address, _ := browser.Address(v.ctx)
	v.Fatalf("%s: %s shows %q, not %q", address, selector, seen, want)
}

// quiet fails the test if the browser complains of something.
func (v *visit) quiet() {
	v.Helper()
	lines, err := browser.Console(v.ctx)
	v.must(err)
	for _, line := range lines {
		if strings.Contains(line, "status of 4") || strings.HasPrefix(line, "DEBUG") { // pages that tell what is wrong; advice
			continue
		}
		v.Errorf("the browser's console: %s", line)
	}
}

// count returns how many elements a selector selects.
func (v *visit) count(selector string) (n int) {
	v.Helper()
	v.must(browser.Run(v.ctx, fmt.Sprintf("return document.querySelectorAll(%q).length", selector), &n))
	return n
}

// clock is the store's time.
func (v *visit) clock() time.Time {
	v.Helper()
	now, err := v.client.Now()
	v.must(err)
	return now
}

// state returns the state of a job.
func (v *visit) state(id string) braid.State {
	v.Helper()
	job, err := v.client.Get(v.ctx, id)
	v.must(err)
	return job.State
}
