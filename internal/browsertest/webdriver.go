// Package browsertest drives a real browser through what Braid shows to people. It
// speaks the WebDriver protocol of the W3C to Debian's chromedriver, which needs no more
// than net/http.
package browsertest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Browser is a session of a browser. Its methods are for one goroutine at a time.
type Browser struct {
	endpoint string // of the session
	client   *http.Client
}

// elementKey is how the protocol names an element.
const elementKey = "element-6066-11e4-a52e-4f735466cecf"

// Element is an element of the page that the browser shows.
type Element struct {
	browser *Browser
	id      string
}

// errNoSuchElement: the page has no such element.
var errNoSuchElement = errors.New("no such element")

// open opens a session through the chromedriver at an address, with a profile of its
// own in an empty folder.
func open(ctx context.Context, driver, profile string) (*Browser, error) {
	b := &Browser{endpoint: driver, client: &http.Client{Timeout: 30 * time.Second}}
	arguments := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + profile,
	}
	var session struct {
		SessionID string `json:"sessionId"`
	}
	err := b.call(ctx, http.MethodPost, "/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName":        "chrome",
		"goog:chromeOptions": map[string]any{"args": arguments},
		"goog:loggingPrefs":  map[string]string{"browser": "ALL"},
	}}}, &session)
	if err != nil {
		return nil, err
	}
	b.endpoint += "/session/" + session.SessionID
	return b, nil
}

// call makes one call of the protocol.
func (b *Browser) call(ctx context.Context, method, path string, body, into any) error {
	var reader io.Reader
	if method == http.MethodPost {
		if body == nil {
			body = struct{}{}
		}
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, b.endpoint+path, reader)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := b.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var reply struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode != http.StatusOK {
		var failure struct{ Error, Message string }
		if err := json.Unmarshal(reply.Value, &failure); err != nil {
			return fmt.Errorf("%s %s: %s", method, path, reply.Value)
		}
		message, _, _ := strings.Cut(failure.Message, "\n")
		// The last is what Chromium says of an element while its page is being replaced.
		if failure.Error == "no such element" || failure.Error == "stale element reference" ||
			strings.Contains(message, "does not belong to the document") {
			return fmt.Errorf("%w: %s", errNoSuchElement, message)
		}
		return fmt.Errorf("%s %s: %s: %s", method, path, failure.Error, message)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(reply.Value, into)
}

// Close ends the session and its browser.
func (b *Browser) Close(ctx context.Context) error {
	err := b.call(ctx, http.MethodDelete, "", nil, nil)
	b.client.CloseIdleConnections()
	return err
}

// Open shows a page, and returns when it is loaded.
func (b *Browser) Open(ctx context.Context, url string) error {
	return b.call(ctx, http.MethodPost, "/url", map[string]string{"url": url}, nil)
}

// Address returns the address of the page.
func (b *Browser) Address(ctx context.Context) (url string, err error) {
	err = b.call(ctx, http.MethodGet, "/url", nil, &url)
	return url, err
}

// Run runs a script in the page, as the driver does: the page's policy does not hold it.
func (b *Browser) Run(ctx context.Context, script string, into any) error {
	return b.call(ctx, http.MethodPost, "/execute/sync", map[string]any{"script": script, "args": []any{}}, into)
}

// Find returns the first element that a CSS selector selects.
func (b *Browser) Find(ctx context.Context, selector string) (*Element, error) {
	return b.find(ctx, "css selector", selector)
}

// FindText returns the first link or button that reads so.
func (b *Browser) FindText(ctx context.Context, text string) (*Element, error) {
	quoted := `"` + strings.ReplaceAll(text, `"`, "") + `"`
	return b.find(ctx, "xpath", "//*[self::a or self::button or self::summary][normalize-space(.)="+quoted+"]")
}

func (b *Browser) find(ctx context.Context, using, value string) (*Element, error) {
	var found map[string]string
	if err := b.call(ctx, http.MethodPost, "/element", map[string]string{"using": using, "value": value}, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", value, err)
	}
	return &Element{b, found[elementKey]}, nil
}

// Click clicks the middle of the element.
func (e *Element) Click(ctx context.Context) error {
	return e.browser.call(ctx, http.MethodPost, "/element/"+e.id+"/click", nil, nil)
}

// Type types text into the element.
func (e *Element) Type(ctx context.Context, text string) error {
	return e.browser.call(ctx, http.MethodPost, "/element/"+e.id+"/value", map[string]string{"text": text}, nil)
}

// Text returns the text of the element, as it is shown.
func (e *Element) Text(ctx context.Context) (text string, err error) {
	err = e.browser.call(ctx, http.MethodGet, "/element/"+e.id+"/text", nil, &text)
	return text, err
}

// Press types keys into whatever has the focus.
func (b *Browser) Press(ctx context.Context, keys string) error {
	var actions []map[string]string
	for _, key := range keys {
		actions = append(actions, map[string]string{"type": "keyDown", "value": string(key)}, map[string]string{"type": "keyUp", "value": string(key)})
	}
	return b.call(ctx, http.MethodPost, "/actions", map[string]any{
		"actions": []any{map[string]any{"type": "key", "id": "keyboard", "actions": actions}}}, nil)
}

// The keys that have no character.
const (
	KeyTab   = "\uE004"
	KeyEnter = "\uE007"
)

// Look makes the browser look like a screen: its size in CSS pixels, and whether its
// owner likes it dark.
func (b *Browser) Look(ctx context.Context, width, height int, dark bool) error {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	if err := b.devTools(ctx, "Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}); err != nil {
		return err
	}
	return b.devTools(ctx, "Emulation.setEmulatedMedia", map[string]any{
		"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}}})
}

// Scripts says whether pages may run theirs.
func (b *Browser) Scripts(ctx context.Context, on bool) error {
	return b.devTools(ctx, "Emulation.setScriptExecutionDisabled", map[string]any{"value": !on})
}

func (b *Browser) devTools(ctx context.Context, command string, parameters any) error {
	return b.call(ctx, http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": command, "params": parameters}, nil)
}

// Screenshot returns what is shown, as PNG.
func (b *Browser) Screenshot(ctx context.Context) ([]byte, error) {
	var encoded string
	if err := b.call(ctx, http.MethodGet, "/screenshot", nil, &encoded); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(encoded)
}

// Console returns what the browser has written to its console since the last call:
// errors of scripts, and what a policy has refused.
func (b *Browser) Console(ctx context.Context) ([]string, error) {
	var entries []struct{ Level, Message string }
	if err := b.call(ctx, http.MethodPost, "/se/log", map[string]string{"type": "browser"}, &entries); err != nil {
		return nil, err
	}
	var lines []string
	for _, e := range entries {
		lines = append(lines, e.Level+": "+e.Message)
	}
	return lines, nil
}
